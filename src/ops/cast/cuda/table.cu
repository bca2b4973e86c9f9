// Many small tensors in one launch: what starting a kernel for each would take is longer than the copies.
#include "ops/cast/cuda/table.h"
#include "ops/cuda/tensor_table.cuh"
#include "ops/cuda/types.cuh"

namespace headroom::cuda {
namespace {

template <class From, class To>
__global__ void __launch_bounds__(kThreads)
    convert_table(float scale, const __grid_constant__ TensorTable table) {
  constexpr int kWide = 4;
  const TablePiece piece = piece_of(table, blockIdx.x, kCastChunk);
  const auto* x = static_cast<const From*>(table.at[piece.tensor][0]);
  auto* y = static_cast<To*>(table.at[piece.tensor][1]);
  std::int64_t from = piece.begin;
  const bool whole =
      (reinterpret_cast<unsigned long long>(x) | reinterpret_cast<unsigned long long>(y)) % 16 == 0;
  if (whole) {
    from += (piece.end - piece.begin) / kWide * kWide;
#pragma unroll 4
    for (std::int64_t i = piece.begin + threadIdx.x * kWide; i < from; i += kThreads * kWide) {
      const Pack<From, kWide> in = *reinterpret_cast<const Pack<From, kWide>*>(x + i);
      Pack<To, kWide> out;
#pragma unroll
      for (int k = 0; k < kWide; ++k) out.v[k] = narrow<To>(widen(in.v[k]) * scale);
      *reinterpret_cast<Pack<To, kWide>*>(y + i) = out;
    }
  }
  for (std::int64_t i = from + threadIdx.x; i < piece.end; i += kThreads)
    y[i] = narrow<To>(widen(x[i]) * scale);
}

}  // namespace

void cast_all(DType from, DType to, double scale, const TensorTable& table, cudaStream_t stream) {
  const auto factor = static_cast<float>(scale);
  if (to == DType::f16)
    convert_table<float, Half><<<table.blocks(), kThreads, 0, stream>>>(factor, table);
  else if (to == DType::bf16)
    convert_table<float, Brain><<<table.blocks(), kThreads, 0, stream>>>(factor, table);
  else if (from == DType::f16)
    convert_table<Half, float><<<table.blocks(), kThreads, 0, stream>>>(factor, table);
  else
    convert_table<Brain, float><<<table.blocks(), kThreads, 0, stream>>>(factor, table);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
