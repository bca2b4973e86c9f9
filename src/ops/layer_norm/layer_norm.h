#pragma once

#include "ops/operator.h"

namespace headroom {

// layer_norm(x, scale, bias; axis -1, epsilon 1e-5) -> y, saved_mean, saved_inv_std
//   Each row, the values of axes axis … last, is normalised by its own mean and variance (over n, not n - 1);
//   scale and bias have the shape of a row, and the type of x or fp32 beside an x of 16 bits. The saved
//   statistics have ones in place of a row's extents, and are fp64 whatever x is.
// layer_norm_grad(dy, x, scale, saved_mean, saved_inv_std; axis) -> dx, dscale, dbias
std::vector<Operator> layer_norm_operators();

struct LayerNormProblem {
  std::int64_t rows = 1, columns = 1;
  double epsilon = 1e-5;
  bool backward = false;
};
LayerNormProblem layer_norm_problem(const Problem& problem);  // of either operator

OpSchema layer_norm_schema();
OpSchema layer_norm_grad_schema();

std::vector<Case> layer_norm_cases(bool backward);

}  // namespace headroom
