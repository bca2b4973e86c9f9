#include "ops/softmax/cuda/rows.h"

#include "ops/softmax/cuda/columns.cuh"
#include "ops/softmax/cuda/rows.cuh"

namespace headroom::cuda {
namespace {

template <class T, int kPer>
__global__ void short_rows(std::int64_t rows, int columns, int lanes, bool log_of, const T* x, T* y) {
  using C = Compute<T>;
  const RowPlace at = row_place(rows, columns, lanes);
  C v[kPer];
  load_row<kPer>(x + at.row * columns, at, lanes, least<C>(), v);
  const RowSums<C> sums = exp_row<kPer>(v, lanes, log_of);
  const C scale = C{1} / sums.sum, shift = log_of ? log(sums.sum) : C{0};
#pragma unroll
  for (int k = 0; k < kPer; ++k) v[k] = log_of ? v[k] - shift : v[k] * scale;
  store_row<kPer>(v, at, lanes, y + at.row * columns);
}

template <class T>
__global__ __launch_bounds__(1024) void long_rows(std::int64_t columns, bool cached, bool log_of, const T* x,
                                                  T* y) {
  using C = Compute<T>;
  extern __shared__ __align__(16) unsigned char cache[];
  const std::int64_t base = std::int64_t{blockIdx.x} * columns;
  RowSums<C> sums;
  const T* from = long_row_sums(x + base, columns, cached ? reinterpret_cast<T*>(cache) : nullptr, &sums);
  const C scale = C{1} / sums.sum, shift = log_of ? log(sums.sum) : C{0};
#pragma unroll 4
  for (std::int64_t c = threadIdx.x; c < columns; c += blockDim.x) {
    const C v = widen(from[c]) - sums.most;
    y[base + c] = narrow<T>(log_of ? v - shift : exp(v) * scale);
  }
}

template <class T>
__global__ void columns(SoftmaxShape s, const T* x, T* y) {
  using C = Compute<T>;
  const ColumnPlace at = column_place(s);
  const T* from = x + at.base;
  C most = least<C>(), sum = 0;
  for (std::int64_t k = threadIdx.y; k < s.length; k += kColumnRows) {
    const C v = widen(from[k * s.inner]);
    most = v > most ? v : most;
  }
  most = join_rows(most, [](C a, C b) { return b > a ? b : a; });
  for (std::int64_t k = threadIdx.y; k < s.length; k += kColumnRows)
    sum += exp(widen(from[k * s.inner]) - most);
  sum = join_rows(sum, [](C a, C b) { return a + b; });
  if (!at.live) return;
  const C scale = C{1} / sum, shift = s.log ? log(sum) : C{0};
  for (std::int64_t k = threadIdx.y; k < s.length; k += kColumnRows) {
    const C v = widen(from[k * s.inner]) - most;
    y[at.base + k * s.inner] = narrow<T>(s.log ? v - shift : exp(v) * scale);
  }
}

template <class T>
void run(const SoftmaxShape& s, const T* x, T* y, cudaStream_t stream) {
  if (s.inner != 1) {
    columns<<<column_blocks(s), dim3(kColumnLanes, kColumnRows), 0, stream>>>(s, x, y);
  } else if (const RowSplit split = row_split(s.length); split.lanes != 0) {
    dispatch_per(split.per, [&]<int kPer>() {
      short_rows<T, kPer><<<static_cast<unsigned>(split.blocks(s.outer)), RowSplit::kThreads, 0, stream>>>(
          s.outer, static_cast<int>(s.length), split.lanes, s.log, x, y);
    });
  } else {
    const std::size_t bytes = row_cache(long_rows<T>, static_cast<std::size_t>(s.length) * sizeof(T));
    long_rows<<<static_cast<unsigned>(s.outer), long_row_threads(s.length), bytes, stream>>>(
        s.length, bytes != 0, s.log, x, y);
  }
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void softmax(DType dtype, const SoftmaxShape& shape, const void* x, void* y, cudaStream_t stream) {
  dispatch_floats(dtype,
                  [&]<class T>() { run(shape, static_cast<const T*>(x), static_cast<T*>(y), stream); });
}

}  // namespace headroom::cuda
