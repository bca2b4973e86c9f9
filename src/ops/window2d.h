#pragma once

#include <cstdint>

namespace headroom {

struct Extent2d {
  std::int64_t h = 1, w = 1;
  bool operator==(const Extent2d&) const = default;
};

// A window that slides over the planes of an NCHW tensor: what pooling and convolution share. Output (i, j)
// reads input rows i * stride.h - pad.h + k * dilation.h for k in [0, kernel.h), and columns likewise; rows
// and columns outside the input are padding.
struct Window2d {
  Extent2d input, output;
  Extent2d kernel, stride, dilation;
  Extent2d pad{0, 0};      // above and to the left
  Extent2d pad_end{0, 0};  // below and to the right; with ceil_mode windows may reach further still
};

}  // namespace headroom
