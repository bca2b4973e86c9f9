#pragma once

#include "ops/operator.h"

namespace headroom {

// pad(x; pads, mode, value): pads holds the elements to add before each axis, then those after each; negative
// ones crop. mode is what stands there: "constant" (the default; `value`, or 0), "edge" (the nearest element)
// or "reflect" (the axis mirrored at its first and last element, which are not repeated: pads are then
// smaller than the axis). pad_grad(dy; pads, mode, input_shape): for edge and reflect; each element gets the
// sum over its copies. The gradient of a constant pad is the pad that undoes it.
std::vector<Operator> pad_operators();

enum class PadMode { constant, edge, reflect };

// One axis; neighbours that nothing is added to are one.
struct PadAxis {
  std::int64_t input = 1, output = 1, before = 0;
  std::vector<std::int64_t> source;               // of each output element; -1: the constant
  std::vector<std::vector<std::int64_t>> copies;  // the outputs that come from each input element
  // Outputs [inside, outside) are inputs [inside - before, …) in a row.
  std::int64_t inside = 0, outside = 0;
};

struct PadProblem {
  PadMode mode = PadMode::constant;
  double value = 0;
  std::vector<PadAxis> axes;
  std::int64_t run = 1;   // elements below the last axis, moved together
  std::int64_t rows = 1;  // output rows of pad, input rows of pad_grad: of the last axis times run
};
PadProblem pad_problem(const Problem& problem);  // of either operator

Launcher pad_rows(const Problem& problem, const LaunchContext&);
Launcher pad_grad_rows(const Problem& problem, const LaunchContext&);

Launcher prepare_pad_cuda(const Problem& problem, const LaunchContext&);
Launcher prepare_pad_grad_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
