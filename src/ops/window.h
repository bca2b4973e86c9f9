#pragma once

#include "base/shape.h"
#include "headroom/attrs.h"

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

enum class DefaultStride { one, kernel };  // convolutions step by one, pools by their own size

// Reads strides, pads [top, left, bottom, right], dilations, ceil_mode and auto_pad ("", "valid",
// "same_upper", "same_lower"). Rejects what cannot slide: extents below one, pools whose padding a window
// would not get out of, an input smaller than the window. With ceil_mode the last window may hang over the
// end, but must start inside the input or the padding before it.
Window2d parse_window(const Attrs& attrs, const Shape& input_nchw, std::int64_t kernel_h,
                      std::int64_t kernel_w, DefaultStride default_stride);

}  // namespace headroom
