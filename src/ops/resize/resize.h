#pragma once

#include "ops/operator.h"

namespace headroom {

// resize(x; sizes, mode, coordinates, nearest_mode): the planes of NCHW with sizes = [height, width] samples.
// coordinates says where the output pixel o of n lies on an axis of m input pixels:
//   half_pixel (default)  (o + 1/2) m / n - 1/2: pixels are areas, and the edges of the image coincide
//   asymmetric            o m / n: the first pixels coincide
//   align_corners         o (m - 1) / (n - 1), 0 for n = 1: the first and the last pixels coincide
// scale_h and scale_w, where given, stand for n / m in the first two: a size that was rounded down.
// mode "nearest" (default) takes the pixel that nearest_mode rounds this to: round_prefer_floor (default),
// round_prefer_ceil, floor or ceil; "bilinear" weighs the two around it on either axis. Outside of the image
// its edge continues.
// resize_grad(dy; the same and input_shape): every input pixel gets its weights' share of dy.
std::vector<Operator> resize_operators();

// One axis: output o reads input low[o] and, by `weight`, the next one (high[o], the same where there is
// none).
struct ResizeAxis {
  std::int64_t input = 1, output = 1;
  std::vector<std::int64_t> low, high;
  std::vector<double> weight;  // of `high`; 0 everywhere for "nearest"
};

// The same axis backwards: input i gets sum of weights[first + k] * dy[begin + k], k < count.
struct ResizeShares {
  struct Range {
    std::int64_t begin = 0, count = 0, first = 0;
  };
  std::vector<Range> ranges;
  std::vector<double> weights;
};
ResizeShares shares_of(const ResizeAxis& axis);

struct ResizeProblem {
  std::int64_t planes = 1;
  ResizeAxis rows, columns;
  bool nearest = true;
};
ResizeProblem resize_problem(const Problem& problem);  // of either operator

Launcher resize_rows(const Problem& problem, const LaunchContext&);
std::size_t resize_rows_workspace(const Problem& problem, const Target& target);
Launcher resize_grad_rows(const Problem& problem, const LaunchContext&);
std::size_t resize_grad_rows_workspace(const Problem& problem, const Target& target);

Launcher prepare_resize_cuda(const Problem& problem, const LaunchContext&);
Launcher prepare_resize_grad_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
