#pragma once

#include <algorithm>

#include "ops/operator.h"

namespace headroom {

// Local response normalisation across channels, as ONNX has it. x is [N, C, …].
// lrn(x; size, alpha 1e-4, beta 0.75, bias 1) -> y = x s^-beta, s = bias + alpha / size * sum of x^2 over the
//   channels c - (size - 1) / 2 … c + size / 2 (rounded down) that exist
// lrn_grad(dy, x; the same) -> dx
std::vector<Operator> lrn_operators();

struct LrnProblem {
  std::int64_t rows = 1, channels = 1, plane = 1;
  std::int64_t before = 0, after = 0;        // channels of the window on either side
  double factor = 0, beta = 0.75, bias = 1;  // factor: alpha / size

  std::int64_t first(std::int64_t c) const { return std::max<std::int64_t>(c - before, 0); }
  std::int64_t last(std::int64_t c) const { return std::min(c + after, channels - 1); }
};
LrnProblem lrn_problem(const Problem& problem);

Launcher lrn_strips(const Problem& problem, const LaunchContext&);
Launcher lrn_grad_strips(const Problem& problem, const LaunchContext&);
std::size_t lrn_grad_workspace(const Problem& problem, const Target& target);

Launcher prepare_lrn_cuda(const Problem& problem, const LaunchContext&);
Launcher prepare_lrn_grad_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
