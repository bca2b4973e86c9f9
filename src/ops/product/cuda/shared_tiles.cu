#include "ops/product/cuda/rungs.cuh"
#include "ops/product/cuda/shared_tiles.h"

namespace headroom::cuda {
namespace {

constexpr int kTile = 32, kLine = kTile + 1;  // one more: the 32 elements of a column lie in 32 banks

template <class T>
struct FlatTile {
  T v[kTile * kLine];
  __device__ T& at(int line, int column) { return v[line * kLine + column]; }
};
template <class T>
struct SquareTile {
  T v[kTile][kLine];
  __device__ T& at(int line, int column) { return v[line][column]; }
};

// Element (line, k) of a tile. Neighbouring threads read neighbours: along k, or along the lines.
template <class T, class Tile>
__device__ void bring(Tile& tile, const T* from, std::int64_t line_step, std::int64_t k_step,
                      std::int64_t lines_left, std::int64_t k_left, bool along) {
  const int x = static_cast<int>(threadIdx.x) % kTile, y = static_cast<int>(threadIdx.x) / kTile;
  const int line = along ? y : x, k = along ? x : y;
  tile.at(line, k) = line < lines_left && k < k_left ? from[line * line_step + k * k_step] : T{0};
}

template <class T, template <class> class Tile>
__global__ void __launch_bounds__(kTile* kTile) shared_tiles(RungArgs args, bool along_a, bool along_b) {
  __shared__ Tile<T> left, right;  // rows of A, columns of B; k along the lines
  const RungPlace<T> at(args);
  const TileCorner corner(args, kTile, kTile);
  const int x = static_cast<int>(threadIdx.x) % kTile, y = static_cast<int>(threadIdx.x) / kTile;
  const T *a = at.a + corner.row * args.a_row, *b = at.b + corner.column * args.b_column;
  T sum = 0;
  for (std::int64_t k = 0; k < args.k; k += kTile) {
    bring(left, a + k * args.a_k, args.a_row, args.a_k, args.m - corner.row, args.k - k, along_a);
    bring(right, b + k * args.b_k, args.b_column, args.b_k, args.n - corner.column, args.k - k, along_b);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kTile; ++i) sum += left.at(y, i) * right.at(x, i);
    __syncthreads();  // who still reads this tile
  }
  store_sum(args, at, corner.row + y, corner.column + x, sum);
}

template <template <class> class Tile>
void launch(bool is_double, bool along_a, bool along_b, const RungArgs& args, void* stream) {
  const dim3 grid = grid_of_tiles(args, kTile, kTile);
  auto* const queue = static_cast<cudaStream_t>(stream);
  if (is_double)
    shared_tiles<double, Tile><<<grid, kTile * kTile, 0, queue>>>(args, along_a, along_b);
  else
    shared_tiles<float, Tile><<<grid, kTile * kTile, 0, queue>>>(args, along_a, along_b);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void launch_shared_1d(bool is_double, bool along_a, bool along_b, const RungArgs& args, void* stream) {
  launch<FlatTile>(is_double, along_a, along_b, args, stream);
}

void launch_shared_2d(bool is_double, bool along_a, bool along_b, const RungArgs& args, void* stream) {
  launch<SquareTile>(is_double, along_a, along_b, args, stream);
}

}  // namespace headroom::cuda
