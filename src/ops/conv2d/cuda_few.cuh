#pragma once

// Lines of images in shared memory for the kernels of few channels.

#include "ops/conv2d/cuda_image.cuh"

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
  for (int index = warp; index < count; index += warps) {
    const Line<T> line = at(index);
    for (int c = lane; c < pitch; c += 32) {
      const bool inside =
          line.from != nullptr && static_cast<unsigned>(c + left) < static_cast<unsigned>(width);
      if constexpr (sizeof(T) == 4)
        copy_async<4>(line.to + c, inside ? line.from + (c + left) : any, inside ? 4 : 0);
      else
        line.to[c] = inside ? widen(line.from[c + left]) : 0.0F;
    }
  }
}

// Image n's channels of a group, from output row `first_row` on.
template <class T>
__device__ inline void fill_image(const Sweep& s, const FewPlan& q, const T* x, std::int64_t n, int group,
                                  int first_row, float* view) {
  const T* image = x + (n * s.groups + group) * s.channels * s.in_plane();
  fill_lines(s.channels * q.view_h, q.pitch, q.left, s.in_w, x, [&](int line) -> Line<T> {
    const int channel = s.channels > 1 ? quotient(line, q.by_view_h) : 0;
    const int h = line - channel * q.view_h + first_row + q.top;
    const bool inside = static_cast<unsigned>(h) < static_cast<unsigned>(s.in_h);
    return {view + line * q.pitch, inside ? image + (std::int64_t{channel} * s.in_h + h) * s.in_w : nullptr};
  });
}

}  // namespace headroom::cuda
