#include "ops/l2_penalty/cuda.h"

#include "ops/cuda/block.cuh"
#include "ops/cuda/tensor_table.cuh"

namespace headroom::cuda {
namespace {

__device__ unsigned penalty_arrivals;

__device__ double square(double x) { return x * x; }

// In fp64, as on the CPU: small weights must not drown in a long sum. The conversions keep up with memory.
template <class T>
__global__ void sum_squares(const __grid_constant__ TensorTable table, double* parts, unsigned before,
                            bool finish, double scale, const T* base, T* y) {
  using P = Pack<T>;
  const TablePiece piece = piece_of(table, blockIdx.x, kSquaresChunk);
  const T* x = static_cast<const T*>(table.at[piece.tensor][0]);
  double sum = 0;
  std::int64_t from = piece.begin;
  if (reinterpret_cast<unsigned long long>(x) % 16 == 0) {  // chunks are whole packs
    const std::int64_t packs = (piece.end - piece.begin) / kPack<T>;
    const P* pack = reinterpret_cast<const P*>(x + piece.begin);
#pragma unroll 4
    for (std::int64_t i = threadIdx.x; i < packs; i += kThreads) {
      const P v = pack[i];
#pragma unroll
      for (int k = 0; k < kPack<T>; ++k) sum += square(widen(v.v[k]));
    }
    from += packs * kPack<T>;
  }
  for (std::int64_t i = from + threadIdx.x; i < piece.end; i += kThreads) sum += square(widen(x[i]));
  sum = block_sum(sum);
  if (threadIdx.x == 0) parts[before + blockIdx.x] = sum;
  if (!finish || !last_to_arrive(&penalty_arrivals, gridDim.x)) return;
  sum = block_total(parts, std::int64_t{before} + gridDim.x);
  if (threadIdx.x != 0) return;
  const auto penalty = static_cast<Compute<T>>(scale * sum);
  *y = narrow<T>(base != nullptr ? widen(*base) + penalty : penalty);
}

}  // namespace

void squares(DType dtype, const TensorTable& table, double* parts, unsigned before, bool finish, double scale,
             const void* base, void* y, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    sum_squares<<<table.blocks(), kThreads, 0, stream>>>(table, parts, before, finish, scale,
                                                         static_cast<const T*>(base), static_cast<T*>(y));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
