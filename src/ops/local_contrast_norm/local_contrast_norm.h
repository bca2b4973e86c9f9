#pragma once

#include "ops/operator.h"

namespace headroom {

// local_contrast_norm(x; kernel 9) of an NCHW tensor, by a Gaussian window of `kernel` by `kernel` (odd) and
// a deviation of kernel / 4 over all channels. Its weights sum to one; where it reaches beyond the image,
// those of the pixels inside do.
//   subtractive: v = x - window(x)
//   divisive:    y = v / max(mean of s, s), s = sqrt(window(v^2)), one s for all channels of a pixel; the
//                mean is that of the image. Where the divisor is 0, so is v, and y is 0.
// local_contrast_norm_grad(dy, x; the same) -> dx
std::vector<Operator> local_contrast_norm_operators();

struct ContrastProblem {
  std::int64_t images = 1, channels = 1, height = 1, width = 1, reach = 0;  // reach: (kernel - 1) / 2
  std::int64_t pixels() const { return height * width; }
};
ContrastProblem contrast_problem(const Problem& problem);

// The window is a row times a column: reach + 1 weights from the middle on. Their sum over the pixels inside
// is a product of two sums, one for each axis.
std::vector<double> contrast_weights(std::int64_t reach);
std::vector<double> contrast_sums(const std::vector<double>& weights, std::int64_t extent);

Launcher contrast_planes(const Problem& problem, const LaunchContext&);
Launcher contrast_grad_planes(const Problem& problem, const LaunchContext&);
std::size_t contrast_planes_workspace(const Problem& problem, const Target& target);

Launcher contrast_reference(const Problem& problem, const LaunchContext&);
Launcher contrast_grad_reference(const Problem& problem, const LaunchContext&);

Launcher prepare_contrast_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
