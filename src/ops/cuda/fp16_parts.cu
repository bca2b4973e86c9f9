#include "ops/cuda/fp16_parts.h"

#include <cooperative_groups.h>

#include "ops/cuda/fp16_parts.cuh"

namespace headroom::cuda {
namespace {

constexpr int kBlock = kPartsThreads, kWide = kPartsWide;
constexpr unsigned kInfinity = 0x7F800000;

using Floats = Pack<float>;

// Eight neighbours of a row, 0 past its end.
struct Eight {
  float v[kWide];
};

__device__ inline Eight load_eight(const float* from) {
  Eight e;
  const Floats first = reinterpret_cast<const Floats*>(from)[0],
               second = reinterpret_cast<const Floats*>(from)[1];
#pragma unroll
  for (int k = 0; k < 4; ++k) e.v[k] = first.v[k], e.v[4 + k] = second.v[k];
  return e;
}

// The values of a matrix in packs of eight, which the threads of the grid take in turn. kFlat: rows follow
// each other without gaps, in both forms.
template <bool kFlat>
class Packs {
 public:
  __device__ explicit Packs(const PartsMatrix& x)
      : x_(x),
        across_(static_cast<unsigned>((x.columns + kWide - 1) / kWide)),
        whole_(x.ld % 4 == 0 && reinterpret_cast<std::uintptr_t>(x.from) % sizeof(Floats) == 0) {}
  __device__ std::int64_t count() const { return x_.rows * across_; }
  __device__ static std::int64_t first() { return std::int64_t{blockIdx.x} * kBlock + threadIdx.x; }
  __device__ static std::int64_t step() { return std::int64_t{gridDim.x} * kBlock; }

  __device__ Eight load(std::int64_t i) const {
    if constexpr (kFlat) return load_eight(x_.from + i * kWide);
    const std::int64_t row = row_of(i), column = (i - row * across_) * kWide;
    const float* const from = x_.from + row * x_.ld + column;
    if (whole_ && column + kWide <= x_.columns) return load_eight(from);
    Eight e;
#pragma unroll
    for (int k = 0; k < kWide; ++k) e.v[k] = column + k < x_.columns ? from[k] : 0;
    return e;
  }
  __device__ void write(std::int64_t i, const Eight& e, const PartsScale& scale) const {
    const float factor = 1 / scale.power;
    Pack<Half> hi, lo;
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      const Halves parts = halves_of(e.v[k], factor, scale.base);
      hi.v[k] = parts.hi, lo.v[k] = parts.lo;
    }
    auto* const to = reinterpret_cast<Pack<Half>*>(x_.to) + i;  // rows of the parts have no gaps
    *to = hi;
    if (x_.max_parts == 2) to[count()] = lo;  // zeros where one part is enough
  }

 private:
  __device__ std::int64_t row_of(std::int64_t i) const {
    return count() < 0x80000000LL ? static_cast<unsigned>(i) / across_ : i / across_;
  }

  const PartsMatrix& x_;
  unsigned across_;
  bool whole_;
};

// What is seen of the values of one thread.
struct Seen {
  unsigned largest = 0, top = 0,
           any = 0;  // bits of absolute values: the largest finite one, the largest, all
  float off = 0;     // the farthest from a pixel, beyond what rounding explains

  __device__ void add(const Eight& e) {
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      const unsigned bits = __float_as_uint(e.v[k]) & 0x7FFFFFFF;  // in the order of absolute values
      top = max(top, bits), largest = max(largest, bits < kInfinity ? bits : 0u), any |= bits;
      off = fmaxf(off, off_pixel(e.v[k]));
    }
  }
  __device__ PartsFound found() const {
    const bool pixels = off <= 0 && top < kInfinity && __uint_as_float(largest) * 255.0f <= 2048;
    return {largest, ((any & 0x1FFF) != 0 ? 1u : 0u) | (pixels ? 0u : 2u)};
  }
};

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

// A thread's share of a matrix: the first kKept packs stay in its registers until the scale is known, so that
// they are read once. Bound by memory.
template <int kKept, bool kFlat>
struct Share {
  Eight kept[kKept];

  __device__ PartsFound look(const PartsMatrix& x) {
    const Packs<kFlat> packs(x);
    const std::int64_t count = packs.count(), first = packs.first(), step = packs.step();
    Seen seen;
#pragma unroll
    for (int u = 0; u < kKept; ++u)
      if (first + u * step < count) kept[u] = packs.load(first + u * step);
#pragma unroll
    for (int u = 0; u < kKept; ++u)
      if (first + u * step < count) seen.add(kept[u]);
    for (std::int64_t i = first + kKept * step; i < count; i += step) seen.add(packs.load(i));
    return seen.found();
  }
  __device__ void write(const PartsMatrix& x, const PartsScale& scale) const {
    const Packs<kFlat> packs(x);
    const std::int64_t count = packs.count(), first = packs.first(), step = packs.step();
#pragma unroll
    for (int u = 0; u < kKept; ++u)
      if (first + u * step < count) packs.write(first + u * step, kept[u], scale);
    for (std::int64_t i = first + kKept * step; i < count; i += step) packs.write(i, packs.load(i), scale);
  }
};

__device__ inline PartsScale scale_from(PartsFound found, const PartsMatrix& x) {
  const bool pixels = (found.inexact & 1) != 0 && (found.inexact & 2) == 0;
  const bool one = x.max_parts == 1 || found.inexact != 3;
  return scale_of(found.largest, pixels ? 255.0f : 1.0f, one ? 1 : 2);
}

template <bool kFlat>
__global__ void __launch_bounds__(kBlock, kPartsBlocksPerUnit) parts_of(PartsTask task) {
  __shared__ PartsFound of_warps[2][32];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Share<kFlat ? 3 : 2, kFlat> large;
  Share<1, kFlat> small;
  PartsFound seen[2] = {of_warp(large.look(task.of[0])), {0, 0}};
  if (task.count == 2) seen[1] = of_warp(small.look(task.of[1]));
  if (lane == 0) of_warps[0][warp] = seen[0], of_warps[1][warp] = seen[1];
  __syncthreads();
  if (warp < task.count) {
    const PartsFound all = of_warp(lane < kBlock / 32 ? of_warps[warp][lane] : PartsFound{0, 0});
    if (lane == 0) task.found[warp * gridDim.x + blockIdx.x] = all;
  }
  cooperative_groups::this_grid().sync();
  if (warp < task.count) {
    PartsFound found{0, 0};
    for (unsigned i = lane; i < gridDim.x; i += 32) found = together(found, task.found[warp * gridDim.x + i]);
    found = of_warp(found);
    if (lane == 0) of_warps[warp][0] = found;
  }
  __syncthreads();
  for (int w = 0; w < task.count; ++w) {
    const PartsScale scale = scale_from(of_warps[w][0], task.of[w]);
    if (blockIdx.x == 0 && threadIdx.x == 0) *task.of[w].scale = scale;
    if (w == 0)
      large.write(task.of[0], scale);
    else
      small.write(task.of[1], scale);
  }
}

bool flat(const PartsMatrix& x) {
  return x.columns % kWide == 0 && x.ld == x.columns &&
         reinterpret_cast<std::uintptr_t>(x.from) % sizeof(Floats) == 0;
}

}  // namespace

void write_parts(const PartsTask& task, std::int64_t blocks, cudaStream_t stream) {
  PartsTask ordered = task;  // the larger matrix first: more of it is kept
  const auto elements = [](const PartsMatrix& x) { return x.rows * x.columns; };
  if (task.count == 2 && elements(task.of[1]) > elements(task.of[0])) std::swap(ordered.of[0], ordered.of[1]);
  const bool all_flat = flat(ordered.of[0]) && (task.count == 1 || flat(ordered.of[1]));
  void* arguments[] = {&ordered};
  HEADROOM_CUDA_CHECK(
      cudaLaunchCooperativeKernel(reinterpret_cast<const void*>(all_flat ? parts_of<true> : parts_of<false>),
                                  dim3(static_cast<unsigned>(blocks)), dim3(kBlock), arguments, 0, stream));
}

}  // namespace headroom::cuda
