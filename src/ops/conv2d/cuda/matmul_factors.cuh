#pragma once

// The factors of a convolution seen as a product: weights [maps][depth], and the unrolled image
// [depth][pixels], which is either stored or gathered as it is needed.

#include "ops/conv2d/cuda/rungs.cuh"

namespace headroom::cuda {

struct Weights {
  const Sweep& s;
  const float* group;
  __device__ float operator()(int map, int k) const {
    const int c = k / s.taps();
    return group[map * s.weight_map + c * s.weight_channel + (k - c * s.taps())];
  }
};

// The element that row k of the unrolled image has at a pixel.
struct Gathered {
  const Sweep& s;
  const float* image;
  __device__ float operator()(int k, int pixel) const {
    const int c = k / s.taps(), tap = k - c * s.taps(), i = tap / s.kernel_w, j = tap - i * s.kernel_w;
    const int row = pixel / s.out_w, column = pixel - row * s.out_w;
    const int h = source(row * s.mul_h + s.off_h + i * s.step_h, s.div_h, s.in_h);
    const int v = source(column * s.mul_w + s.off_w + j * s.step_w, s.div_w, s.in_w);
    return h < 0 || v < 0 ? 0.0F : image[c * s.in_plane() + h * s.in_w + v];
  }
};

struct Unrolled {
  const float* matrix;
  int pixels;
  __device__ float operator()(int k, int pixel) const { return matrix[std::int64_t{k} * pixels + pixel]; }
};

// Adds bias and activation; y is where the outputs of the group begin.
struct FinishedOutput {
  const Sweep& s;
  const float* bias;  // of the group, or null
  float* y;
  __device__ void operator()(int map, int pixel, float sum) const {
    y[std::int64_t{map} * s.out_plane() + pixel] =
        activate(s.activation, bias == nullptr ? sum : sum + bias[map]);
  }
};

}  // namespace headroom::cuda
