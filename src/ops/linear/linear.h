#pragma once

#include "ops/activation/activation.h"
#include "ops/operator.h"

namespace headroom {

// linear(x[N,...,K], w[M,K], bias[M]?; activation) -> f(x w^T + bias)[N,...,M]: a fully connected layer on
// the last axis, activation fused.
std::vector<Operator> linear_operators();

struct LinearProblem {
  std::int64_t rows, in, out;
  bool bias;
  Activation activation;
};
LinearProblem linear_problem(const std::vector<TensorType>& inputs, const Attrs& attrs);

OpSchema linear_schema();
std::vector<Case> linear_cases();

}  // namespace headroom
