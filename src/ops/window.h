#pragma once

#include "base/shape.h"
#include "headroom/attrs.h"
#include "ops/window2d.h"

namespace headroom {

enum class DefaultStride { one, kernel };  // convolutions step by one, pools by their own size

// Reads strides, pads [top, left, bottom, right], dilations, ceil_mode and auto_pad ("", "valid",
// "same_upper", "same_lower"). Rejects what cannot slide: extents below one, pools whose padding a window
// would not get out of, an input smaller than the window. With ceil_mode the last window may hang over the
// end, but must start inside the input or the padding before it.
Window2d parse_window(const Attrs& attrs, const Shape& input_nchw, std::int64_t kernel_h,
                      std::int64_t kernel_w, DefaultStride default_stride);

}  // namespace headroom
