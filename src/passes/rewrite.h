#pragma once

// What passes that replace several nodes by one share.

#include <map>

#include "graph/graph.h"

namespace headroom {

// How often each value is read, by nodes and by the caller.
std::map<ValueId, int> count_readers(const Graph& graph);

// Splits a step's time between its parts by the bytes each would have moved alone. A part that is fused
// itself hands its share on.
std::vector<Charge> charges_of(const Graph& graph, const std::vector<Node>& parts);

}  // namespace headroom
