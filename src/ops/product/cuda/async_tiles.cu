#include "ops/cuda/mma.cuh"
#include "ops/product/cuda/register_tile.cuh"
#include "ops/product/cuda/register_tiles.h"

namespace headroom::cuda {
namespace {

constexpr int kStages = 4;

// Begins the copies of a slice; what lies outside of the matrix becomes 0. `from` is inside.
template <class T, bool kAlong>
__device__ void begin_copies(T* slice, const T* from, std::int64_t line_step, std::int64_t k_step,
                             std::int64_t lines_left, std::int64_t k_left, bool whole) {
  using Shape = TileShape<T>;
  constexpr int kSize = static_cast<int>(sizeof(T));
#pragma unroll
  for (int i = 0; i < Shape::kShare / Shape::kVec; ++i) {
    const SliceShare<T, kAlong> share(i);
    const int valid = share.valid(lines_left, k_left);
    const T* source = valid > 0 ? from + share.line * line_step + share.k * k_step : from;
    if (!kAlong && whole) {
      copy_async<16>(slice + share.place(0), source, valid * kSize);
    } else {  // along k the neighbours go to different lines of the slice, one by one
#pragma unroll
      for (int e = 0; e < Shape::kVec; ++e)
        copy_async<kSize>(slice + share.place(e), e < valid ? source + e : from, e < valid ? kSize : 0);
    }
  }
}

template <class T, bool kAlongA, bool kAlongB>
__global__ void __launch_bounds__(kThreads, 2) async_tiles(RungArgs args) {
  using Shape = TileShape<T>;
  __shared__ __align__(16) T left[kStages][Shape::kSlice], right[kStages][Shape::kSlice];
  const RungPlace<T> at(args);
  const TileCorner corner(args, Shape::kTile, Shape::kTile);
  const T *a = at.a + corner.row * args.a_row, *b = at.b + corner.column * args.b_column;
  const std::int64_t steps = (args.k + Shape::kDepth - 1) / Shape::kDepth;
  auto fetch = [&](std::int64_t step) {
    if (step < steps) {
      const std::int64_t k = step * Shape::kDepth;
      const auto stage = static_cast<int>(step % kStages);
      begin_copies<T, kAlongA>(left[stage], a + k * args.a_k, args.a_row, args.a_k, args.m - corner.row,
                               args.k - k, args.whole_a);
      begin_copies<T, kAlongB>(right[stage], b + k * args.b_k, args.b_column, args.b_k,
                               args.n - corner.column, args.k - k, args.whole_b);
    }
    commit_copies();  // also where nothing is left, so that the count below stays right
  };
  T sum[Shape::kPer][Shape::kPer] = {};
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  for (std::int64_t step = 0; step < steps; ++step) {
    wait_copies<kStages - 2>();
    __syncthreads();  // this step has come for everyone, and everyone is done with the one fetch overwrites
    fetch(step + kStages - 1);
    const auto stage = static_cast<int>(step % kStages);
    multiply_slices(left[stage], right[stage], sum);
  }
  store_register_tile(args, at, corner, sum);
}

template <class T>
void launch_async(bool along_a, bool along_b, const RungArgs& args, cudaStream_t stream) {
  void (*const kernels[4])(RungArgs) = {async_tiles<T, false, false>, async_tiles<T, false, true>,
                                        async_tiles<T, true, false>, async_tiles<T, true, true>};
  const dim3 grid = grid_of_tiles(args, TileShape<T>::kTile, TileShape<T>::kTile);
  kernels[2 * along_a + along_b]<<<grid, kThreads, 0, stream>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void launch_async_tiles(bool is_double, bool along_a, bool along_b, const RungArgs& args, void* stream) {
  auto* const queue = static_cast<cudaStream_t>(stream);
  is_double ? launch_async<double>(along_a, along_b, args, queue)
            : launch_async<float>(along_a, along_b, args, queue);
}

}  // namespace headroom::cuda
