#pragma once

#include "ops/operator.h"

namespace headroom {

// softmax(x; axis = -1) and log_softmax(x; axis = -1) along one axis; softmax_grad(dy, y) and
// log_softmax_grad(dy, y) need only the output.
std::vector<Operator> softmax_operators();

// The tensor as [outer, length, inner]; the sums run along the middle.
struct SoftmaxProblem {
  std::int64_t outer = 1, length = 1, inner = 1;
  bool log = false, backward = false;
  std::int64_t rows() const { return outer * inner; }
};
SoftmaxProblem softmax_problem(const Problem& problem);

OpSchema softmax_schema(const std::string& name);

std::vector<Case> softmax_cases(bool backward);

}  // namespace headroom
