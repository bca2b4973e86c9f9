#pragma once

// The view of a tile's images in shared memory: every window reads it without a question about borders.

#include "ops/conv2d/cuda/device.cuh"
#include "ops/conv2d/cuda/fragments.cuh"
#include "ops/conv2d/cuda/image_mma.h"

namespace headroom::cuda {

// kSplit: exact fp32, the parts are made in registers. Otherwise elements are rounded to tf32 here, which
// leaves 16-bit ones as they are.
template <bool kSplit, class T>
__device__ inline float stored(T x) {
  if constexpr (!kSplit && sizeof(T) == 4) return __uint_as_float(to_tf32(x));
  return widen(x);
}

// One kernel for fp32 rounded to tf32 and both 16-bit types: they differ where elements are read and written,
// not in the products. Exact fp32 is its own.
template <bool kSplit, class F>
__device__ inline void with_type(DType dtype, const F& f) {
  if constexpr (!kSplit) {
    if (dtype == DType::f16) return f(Half{});
    if (dtype == DType::bf16) return f(Brain{});
  }
  f(float{});
}

inline constexpr int kLoads = 8;  // in flight per thread

// to[e] = read(e) for e < count, by all threads of the block.
template <class Read>
__device__ inline void fill(float* to, int count, const Read& read) {
  for (int first = static_cast<int>(threadIdx.x); first < count;
       first += kLoads * static_cast<int>(blockDim.x)) {
    float value[kLoads];
#pragma unroll
    for (int u = 0; u < kLoads; ++u)
      if (const int e = first + u * static_cast<int>(blockDim.x); e < count) value[u] = read(e);
#pragma unroll
    for (int u = 0; u < kLoads; ++u)
      if (const int e = first + u * static_cast<int>(blockDim.x); e < count) to[e] = value[u];
  }
}

// The same from memory: at() is the next element of this thread, or null for zero. Exact fp32 goes past the
// registers, so that everything is under way at once; arrived() waits for it.
template <bool kSplit, class T, class At>
__device__ inline void fill_from(float* to, int count, const T* any, At&& at) {
  const int threads = static_cast<int>(blockDim.x);
  if constexpr (kSplit) {
#pragma unroll 4
    for (int e = static_cast<int>(threadIdx.x); e < count; e += threads) {
      const T* from = at();
      copy_async<4>(to + e, from == nullptr ? any : from, from == nullptr ? 0 : 4);
    }
  } else {
    for (int first = static_cast<int>(threadIdx.x); first < count; first += kLoads * threads) {
      float value[kLoads];
#pragma unroll
      for (int u = 0; u < kLoads; ++u) {
        const T* from = first + u * threads < count ? at() : nullptr;
        value[u] = from == nullptr ? 0.0F : stored<kSplit>(*from);
      }
#pragma unroll
      for (int u = 0; u < kLoads; ++u)
        if (const int e = first + u * threads; e < count) to[e] = value[u];
    }
  }
}
__device__ inline void arrived() {
  commit_copies();
  wait_copies<0>();
  __syncthreads();
}

// `x` points at the channels of one group of one image; `top` is the view's first row in input coordinates.
template <bool kSplit, class T>
__device__ inline void fill_view(const Sweep& s, const ImagePlan& q, const T* x, int top, float* to) {
  if (q.flat) {
    if constexpr (kSplit)
      if (q.view_words % 4 == 0 && reinterpret_cast<std::uintptr_t>(x) % 16 == 0) {
        for (int e = 4 * static_cast<int>(threadIdx.x); e < q.view_words;
             e += 4 * static_cast<int>(blockDim.x))
          copy_async<16>(to + e, x + e, 16);
        return;
      }
    const T* from = x + threadIdx.x;
    return fill_from<kSplit>(to, q.view_words, x, [&] {
      const T* own = from;
      from += blockDim.x;
      return own;
    });
  }
  // Through the references, each element would read all of these from memory again.
  const int left = q.left, in_h = s.in_h, in_w = s.in_w, div_h = s.div_h, div_w = s.div_w;
  PlaneWalk walk(q.view_h, q.view_w, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  fill_from<kSplit>(to, q.view_words, x, [=]() mutable -> const T* {
    const int h = source(walk.row + top, div_h, in_h), w = source(walk.column + left, div_w, in_w),
              channel = walk.plane;
    walk.next();
    return h < 0 || w < 0 ? nullptr : x + ((channel * in_h + h) * in_w + w);
  });
}

// Where term k of the sum, (channel, tap), lies in the view, seen from the window's first element.
__device__ inline int term_offset(const Sweep& s, const ImagePlan& q, int k) {
  if (k >= s.depth()) return 0;  // its weight is zero
  const int channel = quotient(k, q.by_taps), tap = k - channel * s.taps();
  const int row = tap / s.kernel_w, column = tap - row * s.kernel_w;
  const int back_h = s.step_h < 0 ? (s.kernel_h - 1) * s.step_h : 0;
  const int back_w = s.step_w < 0 ? (s.kernel_w - 1) * s.step_w : 0;
  return (channel * q.view_h + row * s.step_h - back_h) * q.view_w + column * s.step_w - back_w;
}

// Where the window of a tile's pixel begins.
__device__ inline int pixel_offset(const Sweep& s, const ImagePlan& q, int pixel) {
  const int image = q.images > 1 ? quotient(pixel, q.by_pixels) : 0;
  const int rest = pixel - image * static_cast<int>(q.by_pixels.by);
  const int row = quotient(rest, q.by_width), column = rest - row * s.out_w;
  return image * q.view_words + row * s.mul_h * q.view_w + column * s.mul_w;
}

// The images and rows of a tile.
struct Tile {
  int first_image, images, first_row, pixels;
};
__device__ inline Tile tile_at(const Sweep& s, const ImagePlan& q, int index) {
  const int block = index / q.bands, band = index - block * q.bands;
  Tile tile{block * q.images, q.images, band * q.rows, 0};
  if (tile.images > s.batch - tile.first_image) tile.images = s.batch - tile.first_image;
  const int rows = q.rows < s.out_h - tile.first_row ? q.rows : s.out_h - tile.first_row;
  tile.pixels = tile.images * rows * s.out_w;
  return tile;
}

// Called, not inlined: a dozen kernels share it. Places of images that are not there become zero.
template <bool kSplit, class T>
__device__ __noinline__ void fill_tile(const Sweep& s, const ImagePlan& q, const T* x, int group, Tile tile,
                                       float* view) {
  for (int i = 0; i < tile.images; ++i) {
    const std::int64_t image = std::int64_t{tile.first_image + i} * s.groups + group;
    fill_view<kSplit>(s, q, x + image * s.channels * s.in_plane(), tile.first_row * s.mul_h + q.top,
                      view + i * q.view_words);
  }
  for (int e = tile.images * q.view_words + static_cast<int>(threadIdx.x); e < q.images * q.view_words;
       e += static_cast<int>(blockDim.x))
    view[e] = 0;
}

}  // namespace headroom::cuda
