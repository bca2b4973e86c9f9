#pragma once

#include "ops/operator.h"

namespace headroom {

// Between floats and the small integers of quantised networks, as ONNX defines it.
//   quantize(x, scale, zero; to, low, high, axis, block): round(x / scale) + zero, cut to [low, high]
//   requantize(x int32, factor, zero; to, low, high, axis): round(x * factor) + zero, cut to [low, high]
//   dequantize(x, scale, zero; axis, block): (x - zero) * scale, in the type of scale
// Halves are rounded to the even neighbour; NaN becomes `low`. `to` is uint8, int8 or int32, which also holds
// integers of 4 and 16 bits: low and high say what they may be. Scale has one element for the whole tensor,
// one for each index of `axis`, or, with `block`, one for each `block` elements along it. Zero is of the
// integers' type and has as many elements as scale, or one. They have no gradient.
std::vector<Operator> quantize_operators();

// How the elements of scale lie over x. x is seen as [outer, length, inner], with the axis in the middle.
struct ScaleMap {
  enum class Kind { whole, axis, blocks };
  Kind kind = Kind::whole;
  std::int64_t outer = 1, length = 1, inner = 1;
  std::int64_t block = 0, blocks = 0;  // elements of a block, and how many along the axis

  // Elements that follow one another and have one scale each (step 1) or one for all (step 0).
  struct Row {
    std::int64_t begin, count, scale, step;
  };
  std::int64_t rows() const;
  Row row(std::int64_t r) const;
  std::int64_t scale_of(std::int64_t element) const;  // by the definition
};
ScaleMap scale_map(const Problem& problem);

OpSchema quantize_schema();
OpSchema requantize_schema();
OpSchema dequantize_schema();
std::vector<Case> quantize_cases(std::string_view op);

Kernel quantize_reference();
Kernel quantize_cpu_rows();
Launcher prepare_quantize_cuda(const Problem& problem, const LaunchContext& context);  // any of the three

}  // namespace headroom
