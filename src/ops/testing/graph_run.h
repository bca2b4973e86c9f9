#pragma once

// Interprets a graph with reference kernels in fp64, one allocation per value: slow, obvious, for tests only.

#include <map>

#include "graph/graph.h"
#include "ops/testing/harness.h"

namespace headroom::testing {

// Values of all nodes' outputs, given those of inputs and parameters; constants come from their initialisers.
std::map<ValueId, Values> interpret(const Graph& graph, std::map<ValueId, Values> known);

struct GradientCheck {
  int compared = 0;
  double worst_relative_error = 0;
  std::string where;
};
GradientCheck check_gradient(const Operator& op, const Problem& problem, const std::vector<Values>& inputs);

}  // namespace headroom::testing
