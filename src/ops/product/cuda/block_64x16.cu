#include "ops/product/cuda/block_64x16.h"
#include "ops/product/cuda/rungs.cuh"

namespace headroom::cuda {
namespace {

constexpr int kWide = 64, kHigh = 16, kDepth = 4;  // columns of C, rows of C, terms at a time
static_assert(kHigh * kDepth == kWide, "every thread brings one element of A");

template <class T>
__global__ void __launch_bounds__(kWide) block_64x16(RungArgs args, bool along_a) {
  __shared__ __align__(16) T left[kDepth][kHigh];
  const RungPlace<T> at(args);
  const TileCorner corner(args, kHigh, kWide);
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t column = corner.column + thread;
  const bool inside = column < args.n;
  // The element of A that this thread brings: neighbouring threads read neighbours.
  const int row = along_a ? thread / kDepth : thread % kHigh,
            term = along_a ? thread % kDepth : thread / kHigh;
  const bool row_inside = corner.row + row < args.m;
  const T* a = at.a + (corner.row + row) * args.a_row + term * args.a_k;
  const T* b = at.b + column * args.b_column;
  T sum[kHigh] = {};
  for (std::int64_t k = 0; k < args.k; k += kDepth) {
    T right[kDepth];
#pragma unroll
    for (int q = 0; q < kDepth; ++q) right[q] = inside && k + q < args.k ? b[(k + q) * args.b_k] : T{0};
    __syncthreads();  // who still reads the terms before
    left[term][row] = row_inside && k + term < args.k ? a[k * args.a_k] : T{0};
    __syncthreads();
#pragma unroll
    for (int q = 0; q < kDepth; ++q)
#pragma unroll
      for (int i = 0; i < kHigh; ++i) sum[i] += left[q][i] * right[q];
  }
#pragma unroll
  for (int i = 0; i < kHigh; ++i) store_sum(args, at, corner.row + i, column, sum[i]);
}

}  // namespace

void launch_block_64x16(bool is_double, bool along_a, bool, const RungArgs& args, void* stream) {
  const dim3 grid = grid_of_tiles(args, kHigh, kWide);
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (is_double)
    block_64x16<double><<<grid, kWide, 0, queue>>>(args, along_a);
  else
    block_64x16<float><<<grid, kWide, 0, queue>>>(args, along_a);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
