#pragma once

// Lines of images in shared memory for the kernels of few channels.

#include "ops/conv2d/cuda/few_channels.h"
#include "ops/conv2d/cuda/image_mma.cuh"

namespace headroom::cuda {

// A line's place in shared memory, and where it begins in memory, seen from column 0; null: a line of zeros.
template <class T>
struct Line {
  float* to;
  const T* from;
};

// `count` lines of `pitch` words, as at(line) says: columns `left` and on, of which those outside [0, width)
// are zero. A warp per line. fp32 goes past the registers, so that everything is under way at once; arrived()
// waits for it.
template <class T, class At>
__device__ inline void fill_lines(int count, int pitch, int left, int width, const T* any, const At& at) {
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  constexpr int kLines = sizeof(T) == 4 ? 1 : 4;  // of a warp at a time
  for (int index = warp; index < count; index += kLines * warps) {
    Line<T> lines[kLines];
#pragma unroll
    for (int u = 0; u < kLines; ++u)
      lines[u] = index + u * warps < count ? at(index + u * warps) : Line<T>{nullptr, nullptr};
    for (int c = lane; c < pitch; c += 32) {
      const bool across = static_cast<unsigned>(c + left) < static_cast<unsigned>(width);
      if constexpr (kLines == 1) {
        const bool inside = across && lines[0].from != nullptr;
        copy_async<4>(lines[0].to + c, inside ? lines[0].from + (c + left) : any, inside ? 4 : 0);
      } else {
        float value[kLines];
#pragma unroll
        for (int u = 0; u < kLines; ++u)
          value[u] = across && lines[u].from != nullptr ? widen(lines[u].from[c + left]) : 0.0F;
#pragma unroll
        for (int u = 0; u < kLines; ++u)
          if (lines[u].to != nullptr) lines[u].to[c] = value[u];
      }
    }
  }
}

// Image n's channels of a group, from output row `first_row` on.
template <class T>
__device__ inline void fill_image(const Sweep& s, const FewChannelsPlan& q, const T* x, std::int64_t n,
                                  int group, int first_row, float* view) {
  const T* image = x + (n * s.groups + group) * s.channels * s.in_plane();
  fill_lines(s.channels * q.view_h, q.pitch, q.left, s.in_w, x, [&](int line) -> Line<T> {
    const int channel = s.channels > 1 ? quotient(line, q.by_view_h) : 0;
    const int h = line - channel * q.view_h + first_row + q.top;
    const bool inside = static_cast<unsigned>(h) < static_cast<unsigned>(s.in_h);
    return {view + line * q.pitch, inside ? image + (std::int64_t{channel} * s.in_h + h) * s.in_w : nullptr};
  });
}

}  // namespace headroom::cuda
