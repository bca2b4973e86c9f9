// Bound by reading dy, and y where relu is undone on the way. fp32 sums are of a hundred terms or so each;
// those of the blocks are joined in fp64 by the last block of each tile of columns.
#include "ops/bias_grad/cuda.h"
#include "ops/cuda/block.cuh"
#include "ops/cuda/rows.cuh"

namespace headroom::cuda {
namespace {

constexpr int kBlock = RowsSplit::kBlock;

__device__ unsigned row_arrivals[RowsSplit::kMaxTiles];

template <class T, int kV>
__device__ void join_columns(const RowsSplit& s, const float (&sums)[kV], double* parts, T* db) {
  __shared__ double shared[kBlock * kV];
  const RowsMine mine(s);
  const int columns = s.tile * kV, column0 = static_cast<int>(blockIdx.x) * columns;
  if (mine.line < s.lines)
#pragma unroll
    for (int v = 0; v < kV; ++v)
      shared[mine.line * columns + static_cast<int>(threadIdx.x) % s.tile * kV + v] = double{sums[v]};
  __syncthreads();
  for (int column = threadIdx.x; column < columns; column += kBlock) {
    if (column0 + column >= s.channels) continue;
    double sum = 0;
#pragma unroll 8
    for (int l = 0; l < s.lines; ++l) sum += shared[l * columns + column];
    parts[std::int64_t{blockIdx.y} * s.channels + column0 + column] = sum;
  }
  __syncthreads();
  if (!last_to_arrive(row_arrivals + blockIdx.x, static_cast<unsigned>(s.parts))) return;
  const int slices = kBlock / columns, slice = static_cast<int>(threadIdx.x) / columns;
  const int column = static_cast<int>(threadIdx.x) % columns;
  const std::int64_t c = column0 + column;
  double sum = 0;
  if (slice < slices && c < s.channels) {
#pragma unroll 8
    for (int part = slice; part < s.parts; part += slices)
      sum += __ldcg(parts + std::int64_t{part} * s.channels + c);
    shared[slice * columns + column] = sum;
  }
  __syncthreads();
  if (slice != 0 || c >= s.channels) return;
  for (int i = 1; i < slices; ++i) sum += shared[i * columns + column];
  db[c] = narrow<T>(static_cast<float>(sum));
}

template <class T, bool kRelu>
__global__ void __launch_bounds__(kBlock)
    sum_packs_of_rows(RowsSplit s, const void* dy, const void* y, void* g, double* parts, T* db) {
  constexpr int kV = kPack<T>;
  float sums[kV] = {};
  Pack<T> d[RowsSplit::kDeep], out[RowsSplit::kDeep];
  sweep_rows(
      s, RowsMine(s), true,
      [&](int u, std::int64_t i) {
        d[u] = pack_at<T>(dy, i);
        if constexpr (kRelu) out[u] = pack_at<T>(y, i);
      },
      [&](int u, std::int64_t i) {
#pragma unroll
        for (int v = 0; v < kV; ++v) {
          if constexpr (kRelu)
            if (!(widen(out[u].v[v]) > 0)) d[u].v[v] = narrow<T>(0.0f);
          sums[v] += widen(d[u].v[v]);
        }
        if constexpr (kRelu) static_cast<Pack<T>*>(g)[i] = d[u];
      });
  join_columns<T, kV>(s, sums, parts, db);
}

template <class T>
void run(const RowsSplit& s, const void* dy, const void* y, void* g, double* parts, void* db,
         cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(s.tiles), static_cast<unsigned>(s.parts));
  if (y != nullptr)
    sum_packs_of_rows<T, true><<<grid, kBlock, 0, stream>>>(s, dy, y, g, parts, static_cast<T*>(db));
  else
    sum_packs_of_rows<T, false><<<grid, kBlock, 0, stream>>>(s, dy, y, g, parts, static_cast<T*>(db));
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void bias_grad_rows(DType dtype, const RowsSplit& s, const void* dy, const void* y, void* g, double* parts,
                    void* db, cudaStream_t stream) {
  if (dtype == DType::f16) return run<Half>(s, dy, y, g, parts, db, stream);
  if (dtype == DType::bf16) return run<Brain>(s, dy, y, g, parts, db, stream);
  run<float>(s, dy, y, g, parts, db, stream);
}

}  // namespace headroom::cuda
