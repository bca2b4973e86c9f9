#pragma once

#include "graph/graph.h"

namespace headroom {

// Folds an activation into the linear or conv2d node before it, where nothing else reads the sum, and gathers
// the optimizer's updates into one node. Fused nodes keep a charge for every layer they serve.
void fuse(Graph& graph);

// Removes nodes whose results nobody reads: neither graph.outputs nor an update of storage.
void drop_unused(Graph& graph);

}  // namespace headroom
