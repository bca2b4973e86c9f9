#include "ops/softmax/cuda/columns.cuh"
#include "ops/softmax/cuda/rows.cuh"
#include "ops/softmax/cuda/rows.h"

namespace headroom::cuda {
namespace {

template <class C>
__device__ C term(bool log_of, C dy, C y) {
  return log_of ? dy : dy * y;
}
template <class C>
__device__ C slope(bool log_of, C dy, C y, C sum) {
  return log_of ? dy - exp(y) * sum : y * (dy - sum);
}

template <class T, int kPer>
__global__ void short_rows(std::int64_t rows, int columns, int lanes, bool log_of, const T* dy, const T* y,
                           T* dx) {
  using C = Compute<T>;
  const RowPlace at = row_place(rows, columns, lanes);
  C d[kPer], v[kPer], sum = 0;
  load_row<kPer>(dy + at.row * columns, at, lanes, C{0}, d);
  load_row<kPer>(y + at.row * columns, at, lanes, C{0}, v);
#pragma unroll
  for (int k = 0; k < kPer; ++k) sum += term(log_of, d[k], v[k]);
  sum = warp_sum(sum, lanes);
#pragma unroll
  for (int k = 0; k < kPer; ++k) d[k] = slope(log_of, d[k], v[k], sum);
  store_row<kPer>(d, at, lanes, dx + at.row * columns);
}

template <class T>
__global__ __launch_bounds__(1024) void long_rows_grad(std::int64_t columns, bool log_of, const T* dy,
                                                       const T* y, T* dx) {
  using C = Compute<T>;
  const std::int64_t base = std::int64_t{blockIdx.x} * columns;
  C sum = 0;
#pragma unroll 4
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x)
    sum += term(log_of, widen(dy[base + c]), widen(y[base + c]));
  sum = block_sum(sum);
#pragma unroll 4
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x)
    dx[base + c] = narrow<T>(slope(log_of, widen(dy[base + c]), widen(y[base + c]), sum));
}

template <class T>
__global__ void columns(SoftmaxShape s, const T* dy, const T* y, T* dx) {
  using C = Compute<T>;
  const ColumnPlace at = column_place(s);
  C sum = 0;
  for (std::int64_t k = threadIdx.y; k < s.length; k += kColumnRows) {
    const std::int64_t i = at.base + k * s.inner;
    sum += term(s.log, widen(dy[i]), widen(y[i]));
  }
  sum = join_rows(sum, [](C a, C b) { return a + b; });
  if (!at.live) return;
  for (std::int64_t k = threadIdx.y; k < s.length; k += kColumnRows) {
    const std::int64_t i = at.base + k * s.inner;
    dx[i] = narrow<T>(slope(s.log, widen(dy[i]), widen(y[i]), sum));
  }
}

template <class T>
void run(const SoftmaxShape& s, const T* dy, const T* y, T* dx, cudaStream_t stream) {
  if (s.inner != 1) {
    columns<<<column_blocks(s), dim3(kColumnLanes, kColumnRows), 0, stream>>>(s, dy, y, dx);
  } else if (const RowSplit split = row_split(s.length); split.lanes != 0) {
    dispatch_per(split.per, [&]<int kPer>() {
      short_rows<T, kPer><<<static_cast<unsigned>(split.blocks(s.outer)), RowSplit::kThreads, 0, stream>>>(
          s.outer, static_cast<int>(s.length), split.lanes, s.log, dy, y, dx);
    });
  } else {
    long_rows_grad<<<static_cast<unsigned>(s.outer), long_row_threads(s.length), 0, stream>>>(s.length, s.log,
                                                                                              dy, y, dx);
  }
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void softmax_grad(DType dtype, const SoftmaxShape& shape, const void* dy, const void* y, void* dx,
                  cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    run(shape, static_cast<const T*>(dy), static_cast<const T*>(y), static_cast<T*>(dx), stream);
  });
}

}  // namespace headroom::cuda
