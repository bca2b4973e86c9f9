#pragma once

#include <cstdint>

namespace headroom::cuda {

// Operands that are stretched to the output: extents and, for each operand, steps in elements (0 repeats).
// Plain data, as kernels take it; made by loop_of (launch.h).
struct Loop {
  static constexpr int kMaxAxes = 8;
  int rank = 0;
  std::int64_t numel = 0;
  std::int64_t extent[kMaxAxes] = {};
  std::int64_t step[kMaxAxes][3] = {};
};

}  // namespace headroom::cuda
