#include "ops/product/cuda/one_output.h"
#include "ops/product/cuda/rungs.cuh"

namespace headroom::cuda {
namespace {

constexpr int kLanes = 32, kLines = 8;

// kSide x kSide outputs a thread, as far apart as a block has threads: warps touch what they do with one.
template <class T, bool kAlongRows, int kSide>
__global__ void __launch_bounds__(kLanes* kLines) own_outputs(RungArgs args) {
  constexpr int kRows = kAlongRows ? kLines : kLanes, kColumns = kAlongRows ? kLanes : kLines;
  const RungPlace<T> at(args);
  const TileCorner corner(args, kSide * kRows, kSide * kColumns);
  const int lane = static_cast<int>(threadIdx.x) % kLanes, line = static_cast<int>(threadIdx.x) / kLanes;
  const std::int64_t row = corner.row + (kAlongRows ? line : lane),
                     column = corner.column + (kAlongRows ? lane : line);
  if (row >= args.m || column >= args.n) return;
  const T *a[kSide], *b[kSide];  // beyond the last row or column: that one again, not stored
#pragma unroll
  for (int i = 0; i < kSide; ++i) {
    a[i] = at.a + min(row + i * kRows, args.m - 1) * args.a_row;
    b[i] = at.b + min(column + i * kColumns, args.n - 1) * args.b_column;
  }
  T sum[kSide][kSide] = {};
  for (std::int64_t k = 0; k < args.k; ++k) {
    T right[kSide];
#pragma unroll
    for (int j = 0; j < kSide; ++j) right[j] = b[j][k * args.b_k];
#pragma unroll
    for (int i = 0; i < kSide; ++i) {
      const T left = a[i][k * args.a_k];
#pragma unroll
      for (int j = 0; j < kSide; ++j) sum[i][j] += left * right[j];
    }
  }
#pragma unroll
  for (int i = 0; i < kSide; ++i)
#pragma unroll
    for (int j = 0; j < kSide; ++j) store_sum(args, at, row + i * kRows, column + j * kColumns, sum[i][j]);
}

template <bool kAlongRows, int kSide>
void launch(bool is_double, const RungArgs& args, void* stream) {
  const dim3 grid =
      grid_of_tiles(args, kSide * (kAlongRows ? kLines : kLanes), kSide * (kAlongRows ? kLanes : kLines));
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (is_double)
    own_outputs<double, kAlongRows, kSide><<<grid, kLanes * kLines, 0, queue>>>(args);
  else
    own_outputs<float, kAlongRows, kSide><<<grid, kLanes * kLines, 0, queue>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void launch_threads_along_rows(bool is_double, bool, bool, const RungArgs& args, void* stream) {
  launch<true, 1>(is_double, args, stream);
}

void launch_threads_along_columns(bool is_double, bool, bool, const RungArgs& args, void* stream) {
  launch<false, 1>(is_double, args, stream);
}

void launch_outputs_4x4(bool is_double, bool, bool, const RungArgs& args, void* stream) {
  launch<false, 4>(is_double, args, stream);
}

}  // namespace headroom::cuda
