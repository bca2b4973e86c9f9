// Maxima in NHWC: a thread takes 16 bytes of channels of a window, or of an element; neighbours take the next
// channels. Forwards the first cache serves windows that overlap. The gradient of a maximum is found in two
// passes: where in its window each output has it, a byte each, then each element asks the outputs whose
// windows hold it, in their order. Bound by memory.
#include "ops/pool/cuda/place_bytes.h"
#include "ops/pool/cuda/rows.cuh"

namespace headroom::cuda {
namespace {

// Where a tap is in its window, or in the plane: what max_pool_grad remembers.
template <class Place>
__device__ int remembered(const Pool& p, int i, int j, int row, int column) {
  if constexpr (sizeof(Place) == 1) {
    const int r = (row + p.rows.pad - i * p.rows.stride) / p.rows.dilation;
    const int c = (column + p.columns.pad - j * p.columns.stride) / p.columns.dilation;
    return r * p.columns.kernel + c;
  } else {
    return row * p.columns.input + column;
  }
}

// Writes the maximum where y is given, and where it is where `places` is.
template <class T, int kV, class Place>
__global__ void __launch_bounds__(kThreads)
    max_rows(PoolRows p, std::int64_t outputs, const void* x, void* y, Place* places) {
  const View<T, kV> view(p, x, y);
  for (std::int64_t o = thread_number(); o < outputs; o += thread_count()) {
    const At at = at_of(o, p.pool.rows.output, p.pool.columns.output, view.in.packs);
    const Taps rows = taps_of(p.pool.rows, at.row, false),
               columns = taps_of(p.pool.columns, at.column, false);
    Best<Compute<T>> best[kV];
    for (int r = 0; r < rows.count; ++r) {
      const int row = rows.begin + r * rows.step;
#pragma unroll 4
      for (int c = 0; c < columns.count; ++c) {
        const int column = columns.begin + c * columns.step;
        const Pack<T, kV> v = view.in.data[view.in.place(at.image, row, column, at.pack)];
        const int place = remembered<Place>(p.pool, at.row, at.column, row, column);
#pragma unroll
        for (int k = 0; k < kV; ++k) best[k].see(widen(v.v[k]), place);
      }
    }
    if (y != nullptr) {
      Pack<T, kV> v;
#pragma unroll
      for (int k = 0; k < kV; ++k) v.v[k] = narrow<T>(best[k].value);
      static_cast<Pack<T, kV>*>(y)[o] = v;
    }
    if (places != nullptr) {
      Pack<Place, kV> v;
#pragma unroll
      for (int k = 0; k < kV; ++k) v.v[k] = static_cast<Place>(best[k].at);
      reinterpret_cast<Pack<Place, kV>*>(places)[o] = v;
    }
  }
}

template <class T, int kV, class Place>
__global__ void __launch_bounds__(kThreads) max_rows_grad(PoolRows p, std::int64_t inputs, const void* dy,
                                                          const void* x, const Place* places, void* dx) {
  const View<T, kV> view(p, x, dy);
  for (std::int64_t n = thread_number(); n < inputs; n += thread_count()) {
    const At at = at_of(n, p.pool.rows.input, p.pool.columns.input, view.in.packs);
    const Span rows = outputs_of(p.pool.rows, at.row), columns = outputs_of(p.pool.columns, at.column);
    Compute<T> sum[kV] = {};
    for (int i = rows.first; i <= rows.last; ++i) {
      if (!holds(p.pool.rows, i, at.row)) continue;
      for (int j = columns.first; j <= columns.last; ++j) {
        if (!holds(p.pool.columns, j, at.column)) continue;
        const std::int64_t o = view.out.place(at.image, i, j, at.pack);
        const auto place = static_cast<Place>(remembered<Place>(p.pool, i, j, at.row, at.column));
        const Pack<Place, kV> where = reinterpret_cast<const Pack<Place, kV>*>(places)[o];
        const Pack<T, kV> d = view.out.data[o];
#pragma unroll
        for (int k = 0; k < kV; ++k)
          if (where.v[k] == place) sum[k] += widen(d.v[k]);
      }
    }
    Pack<T, kV> out;
    if (p.pool.slope != 0) {
      const Pack<T, kV> y = view.in.data[n];
#pragma unroll
      for (int k = 0; k < kV; ++k) sum[k] = sloped(p.pool.slope, sum[k], Compute<T>{widen(y.v[k])});
    }
#pragma unroll
    for (int k = 0; k < kV; ++k) out.v[k] = narrow<T>(sum[k]);
    static_cast<Pack<T, kV>*>(dx)[n] = out;
  }
}

template <class Place>
void max_grad(DType dtype, const PoolRows& p, const void* dy, const void* x, Place* places, void* dx,
              cudaStream_t stream) {
  dispatch_rows(dtype, p, [&]<class T, int kV>(std::int64_t inputs, std::int64_t outputs) {
    max_rows<T, kV, Place><<<blocks_striding(outputs), kThreads, 0, stream>>>(p, outputs, x, nullptr, places);
    HEADROOM_CUDA_LAUNCHED();
    max_rows_grad<T, kV, Place>
        <<<blocks_striding(inputs), kThreads, 0, stream>>>(p, inputs, dy, x, places, dx);
  });
}

}  // namespace

void max_pool_rows(DType dtype, const PoolRows& p, const void* x, void* y, cudaStream_t stream) {
  dispatch_rows(dtype, p, [&]<class T, int kV>(std::int64_t, std::int64_t outputs) {
    max_rows<T, kV, int>
        <<<blocks_striding(outputs), kThreads, 0, stream>>>(p, outputs, x, y, static_cast<int*>(nullptr));
  });
}

void max_pool_grad_rows(DType dtype, const PoolRows& p, const void* dy, const void* x, void* places, void* dx,
                        cudaStream_t stream) {
  if (place_bytes(p.pool) == 1)
    max_grad(dtype, p, dy, x, static_cast<unsigned char*>(places), dx, stream);
  else
    max_grad(dtype, p, dy, x, static_cast<int*>(places), dx, stream);
}

}  // namespace headroom::cuda
