#pragma once

// A window that slides over the volumes of an NCDHW tensor: what pooling and convolution over three axes
// share, on CPUs and on GPUs.

#include <cstdint>
#include <vector>

#include "base/host_device.h"

namespace headroom {

class Attrs;
class Shape;
enum class DefaultStride;

// Output i reads the inputs i * stride - pad + k * dilation for k in [0, kernel). Those outside the input are
// padding.
struct WindowAxis {
  std::int64_t input = 1, output = 1, kernel = 1, stride = 1, dilation = 1, pad = 0;
  std::int64_t pad_end = 0;  // with ceil_mode windows may reach further still

  // The input that tap k of output i reads; -1: padding.
  HEADROOM_HOST_DEVICE std::int64_t source(std::int64_t i, std::int64_t k) const {
    const std::int64_t at = i * stride - pad + k * dilation;
    return at < 0 || at >= input ? -1 : at;
  }
};

struct Window3d {
  WindowAxis depth, rows, columns;

  HEADROOM_HOST_DEVICE std::int64_t taps() const { return depth.kernel * rows.kernel * columns.kernel; }
  HEADROOM_HOST_DEVICE std::int64_t inputs() const { return depth.input * rows.input * columns.input; }
  HEADROOM_HOST_DEVICE std::int64_t outputs() const { return depth.output * rows.output * columns.output; }
  HEADROOM_HOST_DEVICE std::int64_t output_plane() const { return rows.output * columns.output; }
};

// As parse_window (ops/window.h) with three axes: pads are [front, top, left, back, bottom, right].
Window3d parse_window3d(const Attrs& attrs, const Shape& input_ncdhw, const std::vector<std::int64_t>& kernel,
                        DefaultStride default_stride);

}  // namespace headroom
