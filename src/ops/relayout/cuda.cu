// Both sides are read and written in runs, through shared memory. Where one axis is short (the channels of an
// image, the taps of a filter) a block takes all of it and a stretch of the long one; else tiles of 32 x 32.
#include <type_traits>

#include "ops/cuda/index.cuh"
#include "ops/relayout/cuda.h"

namespace headroom::cuda {
namespace {

constexpr int kShort = 32;      // the longest short axis
constexpr int kStretch = 4096;  // elements of a block there
// A thread of a tile moves kTileDeep elements, kThreads / kSquare rows apart.
constexpr int kSquare = 32, kTileDeep = 4;

template <class To, class From>
__device__ To converted(From x, float scale) {
  if constexpr (std::is_same_v<To, From>)
    return x;
  else
    return narrow<To>(widen(x) * scale);
}

// How a stretch lies in shared memory: planes of the short axis, an odd number of elements apart.
struct Stretches {
  std::int64_t batch, length;  // of the long axis
  int width, stretch, pitch;   // of the short axis; elements of the long one in a block
  std::int64_t per_image;      // blocks
};

// kInterleaves: x[short][long] to y[long][short]; else back.
template <class From, class To, bool kInterleaves>
__global__ void __launch_bounds__(kThreads) move_stretches(Stretches s, float scale, const From* x, To* y) {
  __shared__ To staged[kStretch + 2 * kShort];
  for (std::int64_t block = blockIdx.x; block < s.batch * s.per_image; block += gridDim.x) {
    const Cut at = cut(block, s.per_image);
    const std::int64_t first = at.rest * s.stretch, image = at.whole * s.width * s.length;
    const int here = static_cast<int>(min(std::int64_t{s.stretch}, s.length - first)), n = here * s.width;
    const auto planar = [&](int i, int& plane, int& along) { plane = i / here, along = i - plane * here; };
    const auto mixed = [&](int i, int& plane, int& along) {
      along = i / s.width, plane = i - along * s.width;
    };
#pragma unroll 4
    for (int i = threadIdx.x; i < n; i += kThreads) {
      int plane, along;
      if constexpr (kInterleaves) {
        planar(i, plane, along);
        staged[plane * s.pitch + along] = converted<To>(x[image + plane * s.length + first + along], scale);
      } else {
        mixed(i, plane, along);
        staged[plane * s.pitch + along] = converted<To>(x[image + first * s.width + i], scale);
      }
    }
    __syncthreads();
#pragma unroll 4
    for (int i = threadIdx.x; i < n; i += kThreads) {
      int plane, along;
      if constexpr (kInterleaves) {
        mixed(i, plane, along);
        y[image + first * s.width + i] = staged[plane * s.pitch + along];
      } else {
        planar(i, plane, along);
        y[image + plane * s.length + first + along] = staged[plane * s.pitch + along];
      }
    }
    __syncthreads();
  }
}

template <class From, class To>
__global__ void __launch_bounds__(kThreads)
    move_tiles(Relayout p, std::int64_t across, std::int64_t tiles, const From* x, To* y) {
  __shared__ To tile[kSquare][kSquare + 1];
  constexpr int kStep = kThreads / kSquare;
  const int lane = threadIdx.x % kSquare, line = threadIdx.x / kSquare;
  for (std::int64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
    const Cut column = cut(t, across), image = cut(column.whole, (p.rows + kSquare - 1) / kSquare);
    const std::int64_t r0 = image.rest * kSquare, c0 = column.rest * kSquare,
                       base = image.whole * p.rows * p.columns;
#pragma unroll
    for (int u = 0; u < kTileDeep; ++u)
      if (const std::int64_t r = r0 + line + u * kStep; r < p.rows && c0 + lane < p.columns)
        tile[line + u * kStep][lane] =
            converted<To>(x[base + r * p.columns + c0 + lane], static_cast<float>(p.scale));
    __syncthreads();
#pragma unroll
    for (int u = 0; u < kTileDeep; ++u)
      if (const std::int64_t c = c0 + line + u * kStep; c < p.columns && r0 + lane < p.rows)
        y[base + c * p.rows + r0 + lane] = tile[lane][line + u * kStep];
    __syncthreads();
  }
}

template <class From, class To>
void move(const Relayout& p, const void* from, void* to, cudaStream_t stream) {
  const auto* x = static_cast<const From*>(from);
  auto* y = static_cast<To*>(to);
  if (p.rows <= kShort || p.columns <= kShort) {
    const bool interleaves = p.rows <= p.columns;
    Stretches s{
        p.batch, interleaves ? p.columns : p.rows, static_cast<int>(interleaves ? p.rows : p.columns), 0, 0,
        0};
    s.stretch = kStretch / s.width;
    s.pitch = s.stretch | 1;
    s.per_image = (s.length + s.stretch - 1) / s.stretch;
    const unsigned blocks = blocks_striding(s.batch * s.per_image, 1);
    const auto scale = static_cast<float>(p.scale);
    if (interleaves)
      move_stretches<From, To, true><<<blocks, kThreads, 0, stream>>>(s, scale, x, y);
    else
      move_stretches<From, To, false><<<blocks, kThreads, 0, stream>>>(s, scale, x, y);
  } else {
    const std::int64_t across = (p.columns + kSquare - 1) / kSquare, down = (p.rows + kSquare - 1) / kSquare;
    const std::int64_t tiles = p.batch * across * down;
    move_tiles<From, To><<<blocks_for(tiles, 1), kThreads, 0, stream>>>(p, across, tiles, x, y);
  }
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void relayout(DType from, DType to, const Relayout& p, const void* x, void* y, cudaStream_t stream) {
  if (from == to)
    return dispatch_sizes(from == DType::f64   ? 8
                          : from == DType::f32 ? 4
                                               : 2,
                          [&]<class T>() { move<T, T>(p, x, y, stream); });
  if (to == DType::f16) return move<float, Half>(p, x, y, stream);
  if (to == DType::bf16) return move<float, Brain>(p, x, y, stream);
  if (from == DType::f16) return move<Half, float>(p, x, y, stream);
  move<Brain, float>(p, x, y, stream);
}

}  // namespace headroom::cuda
