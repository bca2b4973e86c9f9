#pragma once

// One function of two or three elements, whose operands may be stretched (loop.h): a thread takes whole packs
// of the innermost axis, along which an operand either moves by 1 or stands still. F is as in map.cuh.

#include "ops/cuda/index.cuh"
#include "ops/cuda/map.cuh"

namespace headroom::cuda {

// Like offsets_at, without a division for the outermost axis.
template <int kInputs>
__device__ inline void stretched_at(const Loop& loop, std::int64_t flat, std::int64_t* offset) {
#pragma unroll
  for (int k = 0; k < kInputs; ++k) offset[k] = 0;
  for (int axis = loop.rank - 1; axis >= 0; --axis) {
    const Cut c = axis > 0 ? cut(flat, loop.extent[axis]) : Cut{0, flat};
#pragma unroll
    for (int k = 0; k < kInputs; ++k) offset[k] += c.rest * loop.step[axis][k];
    flat = c.whole;
  }
}

template <class T, int kInputs, class F>
__device__ inline void stretch_one(const Loop& loop, std::int64_t i, const Operands<T, kInputs>& at,
                                   const F& f) {
  std::int64_t offset[kInputs];
  stretched_at<kInputs>(loop, i, offset);
  T element[kInputs];
#pragma unroll
  for (int k = 0; k < kInputs; ++k) element[k] = at.in[k][offset[k]];
  at.out[i] = apply<T, F, kInputs>(f, element);
}

template <class T, int kInputs, class F>
__global__ void stretch_singles(const __grid_constant__ Loop loop, Operands<T, kInputs> at, F f) {
  for (std::int64_t i = thread_number(); i < loop.numel; i += thread_count()) stretch_one(loop, i, at, f);
}

template <class T, int kInputs, class F>
__global__ void __launch_bounds__(kMapThreads)
    stretch_packs(const __grid_constant__ Loop loop, Operands<T, kInputs> at, F f) {
  const std::int64_t packs = loop.numel / kPack<T>;
  map_all<T, kInputs>(packs, at.out, f, [&](std::int64_t p, Pack<T>(&x)[kInputs]) {
    std::int64_t offset[kInputs];
    stretched_at<kInputs>(loop, p * kPack<T>, offset);
#pragma unroll
    for (int k = 0; k < kInputs; ++k) {
      const T* from = at.in[k] + offset[k];
      if (loop.step[loop.rank - 1][k] != 0) {
        x[k] = *reinterpret_cast<const Pack<T>*>(from);  // stretched: likely to be read again
      } else {
        const T same = *from;
#pragma unroll
        for (int i = 0; i < kPack<T>; ++i) x[k].v[i] = same;
      }
    }
  });
  // What is left after the last whole pack: of a single axis alone, for other rows are whole packs.
  if (blockIdx.x == 0)
    for (std::int64_t i = packs * kPack<T> + threadIdx.x; i < loop.numel; i += blockDim.x)
      stretch_one(loop, i, at, f);
}

template <class T, int kInputs, class F>
void stretch(const Loop& loop, const Operands<T, kInputs>& at, const F& f, cudaStream_t stream) {
  const int inner = loop.rank - 1;
  bool whole = aligned(at.out) && (loop.rank == 1 || loop.extent[inner] % kPack<T> == 0);
  for (int k = 0; k < kInputs; ++k) whole &= loop.step[inner][k] == 0 || aligned(at.in[k]);
  if (whole)
    stretch_packs<<<map_blocks<T>(loop.numel), kMapThreads, 0, stream>>>(loop, at, f);
  else
    stretch_singles<<<blocks_striding(loop.numel), kThreads, 0, stream>>>(loop, at, f);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
