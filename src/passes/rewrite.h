#pragma once

// What passes that replace several nodes by one share.

#include <map>
#include <set>

#include "device/capabilities.h"
#include "graph/graph.h"

namespace headroom {

// How often each value is read, by nodes and by the caller.
std::map<ValueId, int> count_readers(const Graph& graph);

// The node that makes `value`, where nobody but its one reader wants that; else null.
Node* sole_producer(const Graph& graph, std::vector<Node>& nodes, const std::map<ValueId, int>& readers,
                    ValueId value);

// Gives the graph these nodes but for those named by their places.
void drop_nodes(Graph& graph, std::vector<Node> nodes, const std::set<std::size_t>& gone);

// Has the device a kernel for it?
bool runs_on(const Problem& problem, const Capabilities& capabilities);

// Splits a step's time between its parts by the bytes each would have moved alone. A part that is fused
// itself hands its share on.
std::vector<Charge> charges_of(const Graph& graph, const std::vector<Node>& parts);

}  // namespace headroom
