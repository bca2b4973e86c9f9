#pragma once

// Shared by passes that replace several nodes with one.

#include <map>
#include <set>

#include "graph/graph.h"
#include "ops/target.h"

namespace headroom {

// How often each value is read, by nodes and by the caller.
std::map<ValueId, int> count_readers(const Graph& graph);

// The node that makes `value`, if `value` has exactly one reader; else null.
Node* sole_producer(const Graph& graph, std::vector<Node>& nodes, const std::map<ValueId, int>& readers,
                    ValueId value);

// Gives the graph these nodes, without those at the positions in `gone`.
void drop_nodes(Graph& graph, std::vector<Node> nodes, const std::set<std::size_t>& gone);

// What a node asks for, whether it is in the graph or not.
Problem problem_of(const Graph& graph, const Node& node);

// True if the device has a kernel for the problem.
bool runs_on(const Problem& problem, const Target& target);

// Splits a step's time between its parts by what each adds to its work: bytes moved and arithmetic. A ReLU
// that a convolution applies to its own results adds next to nothing. The share of a part that is itself
// fused goes to its own charges.
std::vector<Charge> charges_of(const Graph& graph, const std::vector<Node>& parts);

}  // namespace headroom
