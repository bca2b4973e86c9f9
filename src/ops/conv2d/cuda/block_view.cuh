#pragma once

// The view of a tile of cuda:block_mma, pixel by pixel: of words of two channels.

#include "ops/conv2d/cuda/block_fill.cuh"

namespace headroom::cuda {
namespace {

// The same as fill_words for words of two channels, where those that hold no pixel are zero already: a thread
// finds the places of a few pixels once, and goes through all planes with them.
template <bool kSplit, int kPixels, int kPlanes, class T>
__device__ __noinline__ void fill_pixels(const BlockShape& shape, const BlockPlan& plan,
                                         const BlockTile& tile, const T* image, float scale, unsigned* view) {
  const BlockShape s = shape;
  const BlockPlan q = plan;
  const int begin = view_top(s, tile) * s.in_w, plane_size = s.in_h * s.in_w, pixels = q.view_h * s.in_w;
  const int threads = static_cast<int>(blockDim.x);
#pragma unroll 1
  for (int first = static_cast<int>(threadIdx.x); first < pixels; first += kPixels * threads) {
    int to[kPixels];         // -1: none
    const T* from[kPixels];  // null: outside the image
#pragma unroll
    for (int u = 0; u < kPixels; ++u) {
      const int pixel = first + u * threads, at = begin + pixel;
      const bool here = pixel < pixels && static_cast<unsigned>(at) < static_cast<unsigned>(plane_size);
      to[u] = pixel < pixels ? pixel_place(s, q, pixel) : -1;
      from[u] = here ? image + at : nullptr;
    }
#pragma unroll 1
    for (int plane = 0; plane < q.planes; plane += kPlanes) {
      float value[kPlanes][kPixels][2];  // all of them are on their way before the first is used
#pragma unroll
      for (int p = 0; p < kPlanes; ++p)
#pragma unroll
        for (int u = 0; u < kPixels; ++u)
#pragma unroll
          for (int h = 0; h < 2; ++h) {
            const int channel = 2 * (plane + p) + h;
            const bool here = from[u] != nullptr && channel < s.channels;
            value[p][u][h] = here ? widen(from[u][channel * plane_size]) : 0;
          }
#pragma unroll
      for (int p = 0; p < kPlanes; ++p) {
        if (plane + p >= q.planes) break;
        unsigned* const words = view + plane_begin(q, plane + p);
#pragma unroll
        for (int u = 0; u < kPixels; ++u) {
          if (to[u] < 0) continue;
          const Parts parts = parts_of<kSplit>(value[p][u][0] * scale, value[p][u][1] * scale);
          words[to[u]] = parts.hi;
          if constexpr (kSplit) words[to[u] + q.view_words] = parts.lo;
        }
      }
    }
  }
}

// The view of a tile; returns its scale, as a biased exponent.
template <bool kSplit, class T>
__device__ inline int fill_view(const BlockShape& s, const BlockPlan& q, const BlockTile& tile,
                                const T* image, unsigned* slots, unsigned* view) {
  int scale = kBlockUnscaled;
  if constexpr (kIsScaled<T>) scale = block_scale(largest_in_tile(s, q, tile, image, slots));
  if (q.by_pixels)
    fill_pixels<kSplit, 3, 6>(s, q, tile, image, block_power(scale), view);
  else
    fill_words<kSplit>(s, q, tile, image, block_power(scale), view);
  return scale;
}

}  // namespace
}  // namespace headroom::cuda
