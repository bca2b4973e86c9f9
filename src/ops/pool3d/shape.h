#pragma once

// Pooling over volumes: the problem, and which elements a window holds, on CPUs and on GPUs.

#include "ops/window3d.h"

namespace headroom {

struct Pool3d {
  std::int64_t volumes = 1;  // N * C
  Window3d window;
  bool count_include_pad = false;
};

// The inputs that one output reads along an axis, `dilation` apart, and how many elements divide its mean.
struct PoolTaps {
  std::int64_t begin, count, shared;
};

HEADROOM_HOST_DEVICE inline PoolTaps pool_taps(const WindowAxis& a, std::int64_t i, bool include_pad) {
  const std::int64_t start = i * a.stride - a.pad;
  const auto taps_before = [&](std::int64_t end) {
    if (end <= start) return std::int64_t{0};
    const std::int64_t taps = (end - start + a.dilation - 1) / a.dilation;
    return taps < a.kernel ? taps : a.kernel;
  };
  const std::int64_t skipped = taps_before(0), all = taps_before(a.input);
  const std::int64_t read = all > skipped ? all - skipped : 0;
  return {start + skipped * a.dilation, read, include_pad ? taps_before(a.input + a.pad_end) : read};
}

}  // namespace headroom
