#pragma once

// What the rungs of the ladder share on the device.

#include "ops/conv2d/cuda/device.cuh"

namespace headroom::cuda {

// The window at one output: over the channels first, first + step, …; `image` and `weights` are those of its
// group and map.
__device__ inline float window_sum(const Sweep& s, const float* __restrict__ image,
                                   const float* __restrict__ weights, int row, int column, int first = 0,
                                   int step = 1) {
  float sum = 0;
  for (int i = 0; i < s.kernel_h; ++i) {
    const int h = source(row * s.mul_h + s.off_h + i * s.step_h, s.div_h, s.in_h);
    if (h < 0) continue;
    for (int j = 0; j < s.kernel_w; ++j) {
      const int v = source(column * s.mul_w + s.off_w + j * s.step_w, s.div_w, s.in_w);
      if (v < 0) continue;
      for (int c = first; c < s.channels; c += step)
        sum += image[c * s.in_plane() + h * s.in_w + v] * weights[c * s.weight_channel + i * s.kernel_w + j];
    }
  }
  return sum;
}

// Where the images and weights of a map, counted over all groups, begin.
__device__ inline const float* image_of(const Sweep& s, const float* x, std::int64_t n, int map) {
  return x + (n * s.groups + map / s.maps) * s.channels * s.in_plane();
}
__device__ inline int weights_at(const Sweep& s, int map) {
  const int group = map / s.maps;
  return static_cast<int>(group * s.weight_group + (map - group * s.maps) * s.weight_map);
}

}  // namespace headroom::cuda
