#pragma once

#include <set>
#include <string>
#include <vector>

#include "graph/graph.h"

namespace headroom {

// "conv*,fc.bias", "head.*": the patterns of all texts, sorted, each once.
std::vector<std::string> parse_freeze(const std::vector<std::string>& texts);

// Names of the parameters and statistics that match a pattern: * stands for any letters, ? for one, [abc] for
// one of these. Rejects a pattern that matches nothing.
std::set<std::string> frozen_names(const Graph& graph, const std::vector<std::string>& patterns);

// Prepares a lowered training graph in which these values must not change: no L2 penalty on them, and batch
// normalisations with frozen statistics use them instead of the batch's. Rejects a network of which nothing
// is left to train.
void freeze(Graph& graph, const std::set<std::string>& names);

}  // namespace headroom
