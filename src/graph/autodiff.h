#pragma once

#include <map>
#include <vector>

#include "graph/graph.h"

namespace headroom {

// Reverse mode: appends the nodes that compute d(target)/d(value) for every value in `wanted` and returns the
// gradient of each (absent if the target does not depend on it). `seed` holds d(loss)/d(target), with
// target's type; kNone makes it a constant 1.
std::map<ValueId, ValueId> differentiate(Graph& graph, ValueId target, const std::vector<ValueId>& wanted,
                                         ValueId seed = kNone);

}  // namespace headroom
