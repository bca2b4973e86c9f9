#include "ops/product/cuda/register_tile.cuh"
#include "ops/product/cuda/register_tiles.h"

namespace headroom::cuda {
namespace {

// A thread's share of a slice on its way from global to shared memory.
template <class T, bool kAlong>
struct HeldSlice {
  using Shape = TileShape<T>;
  static constexpr int kPacks = Shape::kShare / Shape::kVec;
  Pack<T> held[kPacks];

  __device__ void load(const T* from, std::int64_t line_step, std::int64_t k_step, std::int64_t lines_left,
                       std::int64_t k_left, bool whole) {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const SliceShare<T, kAlong> share(i);
      const int valid = share.valid(lines_left, k_left);
      const T* source = from + share.line * line_step + share.k * k_step;
      if (whole && valid == Shape::kVec) {
        held[i] = *reinterpret_cast<const Pack<T>*>(source);
      } else {
#pragma unroll
        for (int e = 0; e < Shape::kVec; ++e) held[i].v[e] = e < valid ? source[e] : T{0};
      }
    }
  }

  __device__ void store(T* slice) const {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const SliceShare<T, kAlong> share(i);
      if constexpr (kAlong) {
#pragma unroll
        for (int e = 0; e < Shape::kVec; ++e) slice[share.place(e)] = held[i].v[e];
      } else {
        *reinterpret_cast<Pack<T>*>(slice + share.place(0)) = held[i];
      }
    }
  }
};

template <class T, bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(kThreads, 2) register_tiles(RungArgs args) {
  using Shape = TileShape<T>;
  __shared__ __align__(16) T left[2][Shape::kSlice], right[2][Shape::kSlice];
  const RungPlace<T> at(args);
  const TileCorner corner(args, Shape::kTile, Shape::kTile);
  const T *a = at.a + corner.row * args.a_row, *b = at.b + corner.column * args.b_column;
  HeldSlice<T, kAlongA> next_a;
  HeldSlice<T, kAlongB> next_b;
  auto load = [&](std::int64_t k) {
    next_a.load(a + k * args.a_k, args.a_row, args.a_k, args.m - corner.row, args.k - k, args.whole_a);
    next_b.load(b + k * args.b_k, args.b_column, args.b_k, args.n - corner.column, args.k - k, args.whole_b);
  };
  T sum[Shape::kPer][Shape::kPer] = {};
  load(0);
  next_a.store(left[0]), next_b.store(right[0]);
  __syncthreads();
  int now = 0;
  for (std::int64_t k = 0; k < args.k; k += Shape::kDepth, now ^= 1) {
    const bool more = k + Shape::kDepth < args.k;
    if (more) load(k + Shape::kDepth);  // under way while the products below run
    multiply_slices(left[now], right[now], sum);
    if (more) next_a.store(left[now ^ 1]), next_b.store(right[now ^ 1]);
    __syncthreads();
  }
  store_register_tile(args, at, corner, sum);
}

template <class T>
void launch(bool along_a, bool along_b, const RungArgs& args, cudaStream_t stream) {
  void (*const kernels[4])(RungArgs) = {register_tiles<T, false, false>, register_tiles<T, false, true>,
                                        register_tiles<T, true, false>, register_tiles<T, true, true>};
  const dim3 grid = grid_of_tiles(args, TileShape<T>::kTile, TileShape<T>::kTile);
  kernels[2 * along_a + along_b]<<<grid, kThreads, 0, stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void launch_register_tiles(bool is_double, bool along_a, bool along_b, const RungArgs& args, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  is_double ? launch<double>(along_a, along_b, args, queue) : launch<float>(along_a, along_b, args, queue);
}

}  // namespace headroom::cuda
