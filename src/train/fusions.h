#pragma once

// Whether passes should fuse: they ask the kernels that the request's chooser takes for the parts and for the
// whole.

#include <set>
#include <string>

#include "train/program.h"

namespace headroom {

// A convolution with its pooling.
bool wants_pooled_block(const BuildRequest& request, const Problem& block);
// A whole step of an mlp in one node, and with its update.
bool wants_small_classifier(const BuildRequest& request, const Problem& whole);
bool wants_classifier_update(const BuildRequest& request, const Problem& whole);
// Does the chosen kernel split its factors itself? Then the parts become values of the graph.
bool splits_factors(const BuildRequest& request, const Problem& product);
// In tf32: large products of the network's input, forward and backward, which pay together only; as texts.
std::set<std::string> split_together(const BuildRequest& request, const Graph& graph);

}  // namespace headroom
