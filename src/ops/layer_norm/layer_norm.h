#pragma once

#include <algorithm>

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

  // Gradients of scale and bias are summed over chunks of rows, which follow from the shape alone.
  std::int64_t chunk_rows() const { return std::clamp<std::int64_t>(rows / 16, 4, 64); }
  std::int64_t chunks() const { return (rows + chunk_rows() - 1) / chunk_rows(); }
};
LayerNormProblem layer_norm_problem(const Problem& problem);

OpSchema layer_norm_schema();
OpSchema layer_norm_grad_schema();

Launcher prepare_layer_norm_cuda(const Problem& problem, const LaunchContext&);
Launcher prepare_layer_norm_grad_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
