#include "ops/cuda/fp16_parts.h"

#include <cooperative_groups.h>

#include "ops/cuda/fp16_parts.cuh"

namespace headroom::cuda {
namespace {

constexpr int kBlock = 1024, kWide = 8;  // fp16 values of one store
constexpr unsigned kInfinity = 0x7F800000;

using Floats = Pack<float>;

// Eight neighbours of a row, 0 past its end.
struct Eight {
  float v[kWide];
};

__device__ inline bool whole_rows(const PartsMatrix& x) {
  return x.ld % 4 == 0 && reinterpret_cast<std::uintptr_t>(x.from) % sizeof(Floats) == 0;
}

struct Walk {
  std::int64_t across, packs, first, step;
  __device__ explicit Walk(const PartsMatrix& x)
      : across((x.columns + kWide - 1) / kWide),
        packs(x.rows * across),
        first(std::int64_t{blockIdx.x} * kBlock + threadIdx.x),
        step(std::int64_t{gridDim.x} * kBlock) {}
  __device__ std::int64_t row(std::int64_t i) const {
    return packs < 0x80000000LL ? static_cast<unsigned>(i) / static_cast<unsigned>(across) : i / across;
  }
};

__device__ inline Eight load(const PartsMatrix& x, std::int64_t row, std::int64_t column, bool whole) {
  Eight e;
  const float* const from = x.from + row * x.ld + column;
  if (whole && column + kWide <= x.columns) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const Floats p = reinterpret_cast<const Floats*>(from)[h];
#pragma unroll
      for (int k = 0; k < 4; ++k) e.v[4 * h + k] = p.v[k];
    }
  } else {
#pragma unroll
    for (int k = 0; k < kWide; ++k) e.v[k] = column + k < x.columns ? from[k] : 0;
  }
  return e;
}

__device__ inline void look_at(PartsFound& found, float x) {
  const unsigned bits = __float_as_uint(x) & 0x7FFFFFFF;  // in the order of absolute values
  if (bits > found.largest && bits < kInfinity) found.largest = bits;
  found.inexact |= (bits & 0x1FFF) != 0 ? 1u : 0u;
  found.inexact |= is_pixel(x) ? 0u : 2u;
}

__device__ inline PartsFound together(PartsFound a, PartsFound b) {
  return {a.largest > b.largest ? a.largest : b.largest, a.inexact | b.inexact};
}

__device__ inline PartsFound of_warp(PartsFound found) {
#pragma unroll
  for (int lanes = 16; lanes > 0; lanes /= 2)
    found = together(
        found, {__shfl_xor_sync(~0u, found.largest, lanes), __shfl_xor_sync(~0u, found.inexact, lanes)});
  return found;
}

// Bound by memory: reads x.
__device__ PartsFound find(const PartsMatrix& x, bool whole) {
  constexpr int kAhead = 2;
  const Walk walk(x);
  PartsFound found{0, 0};
  for (std::int64_t i = walk.first; i < walk.packs; i += kAhead * walk.step) {
    Eight e[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      const std::int64_t at = i + u * walk.step, row = walk.row(at);
      if (at < walk.packs) e[u] = load(x, row, (at - row * walk.across) * kWide, whole);
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      if (i + u * walk.step < walk.packs)
#pragma unroll
        for (int k = 0; k < kWide; ++k) look_at(found, e[u].v[k]);
  }
  return found;
}

// Bound by memory: reads x once more, from L2 where it fits, and writes its parts.
__device__ void split(const PartsMatrix& x, const PartsScale& scale, float factor, bool whole) {
  const Walk walk(x);
  const std::int64_t second = x.rows * x.to_ld;
  for (std::int64_t i = walk.first; i < walk.packs; i += walk.step) {
    const std::int64_t row = walk.row(i), column = (i - row * walk.across) * kWide;
    const Eight e = load(x, row, column, whole);
    Pack<Half> hi, lo;
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      const Halves parts = halves_of(e.v[k], factor, scale.base);
      hi.v[k] = parts.hi, lo.v[k] = parts.lo;
    }
    Half* const to = static_cast<Half*>(x.to) + row * x.to_ld + column;
    *reinterpret_cast<Pack<Half>*>(to) = hi;
    if (x.max_parts == 2) *reinterpret_cast<Pack<Half>*>(to + second) = lo;
  }
}

__global__ void __launch_bounds__(kBlock) parts_of(PartsTask task) {
  __shared__ PartsFound gathered[kBlock / 32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int w = 0; w < task.count; ++w) {
    const PartsMatrix& x = task.of[w];
    const PartsFound own = of_warp(find(x, whole_rows(x)));
    __syncthreads();
    if (lane == 0) gathered[warp] = own;
    __syncthreads();
    if (warp != 0) continue;
    const PartsFound all = of_warp(gathered[lane]);
    if (lane == 0) task.found[w * gridDim.x + blockIdx.x] = all;
  }
  cooperative_groups::this_grid().sync();
  for (int w = 0; w < task.count; ++w) {
    const PartsMatrix& x = task.of[w];
    PartsFound found{0, 0};
    for (unsigned i = lane; i < gridDim.x; i += 32) found = together(found, task.found[w * gridDim.x + i]);
    found = of_warp(found);
    const bool pixels = (found.inexact & 1) != 0 && (found.inexact & 2) == 0;
    const bool one = x.max_parts == 1 || found.inexact != 3;
    const PartsScale scale = scale_of(found.largest, pixels ? 255.0f : 1.0f, one ? 1 : 2);
    if (blockIdx.x == 0 && threadIdx.x == 0) *x.scale = scale;
    split(x, scale, 1 / scale.power, whole_rows(x));
  }
}

}  // namespace

void write_parts(const PartsTask& task, std::int64_t blocks, cudaStream_t stream) {
  PartsTask copy = task;
  void* arguments[] = {&copy};
  HEADROOM_CUDA_CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(parts_of),
                                                  dim3(static_cast<unsigned>(blocks)), dim3(kBlock),
                                                  arguments, 0, stream));
}

}  // namespace headroom::cuda
