#pragma once

#include "ops/cpu/moments.h"
#include "ops/operator.h"

namespace headroom {

// x is [N, C] or [N, C, …]; scale, bias and the running statistics are [C], of the type of x or fp32 beside
// an x of 16 bits. Statistics of a channel are over all its n = N * … values.
//
// batch_norm(x, scale, bias, running_mean, running_var; epsilon 1e-5, momentum 0.1)
//   -> y, running_mean', running_var', saved_mean, saved_inv_std
//   y = (x - mean) inv_std scale + bias, inv_std = 1 / sqrt(var + epsilon), var = sum of squares / n
//   running' = (1 - momentum) running + momentum batch, in place; the variance there is over n - 1.
//   The saved statistics are fp64 whatever x is: the gradient then loses nothing to a mean far from zero.
// batch_norm_grad(dy, x, scale, saved_mean, saved_inv_std) -> dx, dscale, dbias
//
// A pass may fold in what follows (activation = "relu"): batch_norm(…, residual?) gives relu(y), or
// relu(y + residual). Its gradient is batch_norm_grad(dy, x, scale, saved_mean, saved_inv_std, bias), which
// finds the slope of relu again from x, or, with residual = 1, batch_norm_grad(…, bias, y, dy2?) -> dx,
// dscale, dbias, g: g = dy (+ dy2) where y > 0, the gradient of the sum before relu.
//
// batch_norm_inference(x, scale, bias, mean, var; epsilon) -> y, by given statistics, which are constants to
// its gradient: batch_norm_inference_grad(dy, x, scale, mean, var; epsilon) -> dx, dscale, dbias
std::vector<Operator> batch_norm_operators();

// How the tensor is cut into pieces. Planes of some length are runs of one channel; short planes, and [N, C],
// are a matrix of N rows whose columns belong to channels. Partial results are [outer][channel][inner] in
// both, and depend on the shape alone.
struct Channels {
  std::int64_t rows = 1, channels = 1, plane = 1;
  double epsilon = 1e-5, momentum = 0.1;

  static constexpr std::int64_t kShortPlane = 16;
  static constexpr std::int64_t kRun = kMomentsRun;
  static constexpr std::int64_t kBand = 128;  // rows of a tile of the matrix; it has kMomentsColumns columns

  bool as_matrix() const { return plane < kShortPlane; }
  std::int64_t width() const { return channels * plane; }
  std::int64_t numel() const { return rows * width(); }
  std::int64_t per_channel() const { return rows * plane; }
  std::int64_t outer() const { return as_matrix() ? (rows + kBand - 1) / kBand : rows; }
  std::int64_t inner() const { return as_matrix() ? plane : (plane + kRun - 1) / kRun; }
  std::int64_t partials() const { return outer() * channels * inner(); }
  // Coefficients are kept once for each channel, or for each column of the matrix.
  std::int64_t copies() const { return as_matrix() ? plane : 1; }
};
Channels channels_of(const Problem& problem);  // by the shape of x

// What a pass has folded into batch_norm_grad.
struct FoldedGradient {
  bool relu = false, residual = false, summed = false;
};
FoldedGradient folded_gradient(const Problem& problem);

OpSchema batch_norm_schema();
OpSchema batch_norm_grad_schema();
OpSchema batch_norm_inference_schema();
OpSchema batch_norm_inference_grad_schema();
std::vector<Case> batch_norm_cases(std::string_view op);

}  // namespace headroom
