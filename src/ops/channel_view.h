#pragma once

#include "base/shape.h"

namespace headroom {

// A tensor [N, C, …] as rows x channels x plane. In NHWC it is a matrix: a row for every place, a column for
// every channel.
struct ChannelView {
  std::int64_t rows = 1, channels = 1, plane = 1;
};

inline ChannelView channel_view(const TensorType& type) {
  const Shape& s = type.shape;
  const std::int64_t plane = s.numel() / (s[0] * s[1]);
  if (type.layout == Layout::nhwc) return {s[0] * plane, s[1], 1};
  return {s[0], s[1], plane};
}

}  // namespace headroom
