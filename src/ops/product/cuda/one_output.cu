#include "ops/product/cuda/one_output.h"
#include "ops/product/cuda/rungs.cuh"

namespace headroom::cuda {
namespace {

constexpr int kLanes = 32, kLines = 8;

template <class T, bool kAlongRows>
__global__ void __launch_bounds__(kLanes* kLines) one_output(RungArgs args) {
  const RungPlace<T> at(args);
  const TileCorner corner(args, kAlongRows ? kLines : kLanes, kAlongRows ? kLanes : kLines);
  const int lane = static_cast<int>(threadIdx.x) % kLanes, line = static_cast<int>(threadIdx.x) / kLanes;
  const std::int64_t row = corner.row + (kAlongRows ? line : lane),
                     column = corner.column + (kAlongRows ? lane : line);
  if (row >= args.m || column >= args.n) return;
  T sum = 0;
  for (std::int64_t k = 0; k < args.k; ++k)
    sum += at.a[row * args.a_row + k * args.a_k] * at.b[k * args.b_k + column * args.b_column];
  store_sum(args, at, row, column, sum);
}

template <bool kAlongRows>
void launch(bool is_double, const RungArgs& args, void* stream) {
  const dim3 grid = grid_of_tiles(args, kAlongRows ? kLines : kLanes, kAlongRows ? kLanes : kLines);
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (is_double)
    one_output<double, kAlongRows><<<grid, kLanes * kLines, 0, queue>>>(args);
  else
    one_output<float, kAlongRows><<<grid, kLanes * kLines, 0, queue>>>(args);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void launch_threads_along_rows(bool is_double, bool, bool, const RungArgs& args, void* stream) {
  launch<true>(is_double, args, stream);
}

void launch_threads_along_columns(bool is_double, bool, bool, const RungArgs& args, void* stream) {
  launch<false>(is_double, args, stream);
}

}  // namespace headroom::cuda
