// NHWC: a thread takes 16 bytes of channels of a window, or of an element; neighbours take the next channels.
// Forwards the first cache serves windows that overlap. The gradient of a maximum is found in two passes:
// where in its window each output has it, a byte each, then each element asks the outputs whose windows hold
// it, in their order. Bound by memory.
#include "ops/cuda/index.cuh"
#include "ops/pool/place_bytes.h"
#include "ops/pool/windows.cuh"

namespace headroom::cuda {
namespace {

struct At {
  std::int64_t image;
  int row, column, pack;
};
__device__ At at_of(std::int64_t n, int height, int width, int packs) {
  const Cut place = cut(n, packs), row = cut(place.whole, width), image = cut(row.whole, height);
  return {image.whole, static_cast<int>(image.rest), static_cast<int>(row.rest),
          static_cast<int>(place.rest)};
}

template <class T, int kV>
struct Tensor {
  using P = Pack<T, kV>;
  const P* data;
  int height, width, packs;
  __device__ std::int64_t place(std::int64_t image, int row, int column, int pack) const {
    return ((image * height + row) * width + column) * packs + pack;
  }
};

template <class T, int kV>
struct View {
  Tensor<T, kV> in, out;  // images; outputs
  __device__ View(const PoolRows& p, const void* x, const void* y)
      : in{static_cast<const Pack<T, kV>*>(x), p.pool.rows.input, p.pool.columns.input, p.channels / kV},
        out{static_cast<const Pack<T, kV>*>(y), p.pool.rows.output, p.pool.columns.output, p.channels / kV} {}
};

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

template <class T, int kV>
__global__ void __launch_bounds__(kThreads)
    mean_rows(PoolRows p, std::int64_t outputs, const void* x, void* y) {
  using C = Compute<T>;
  const View<T, kV> view(p, x, y);
  for (std::int64_t o = thread_number(); o < outputs; o += thread_count()) {
    const At at = at_of(o, p.pool.rows.output, p.pool.columns.output, view.in.packs);
    const Taps rows = taps_of(p.pool.rows, at.row, p.pool.count_include_pad),
               columns = taps_of(p.pool.columns, at.column, p.pool.count_include_pad);
    C sum[kV] = {};
    for (int r = 0; r < rows.count; ++r)
#pragma unroll 4
      for (int c = 0; c < columns.count; ++c) {
        const Pack<T, kV> v = view.in.data[view.in.place(at.image, rows.begin + r * rows.step,
                                                         columns.begin + c * columns.step, at.pack)];
#pragma unroll
        for (int k = 0; k < kV; ++k) sum[k] += widen(v.v[k]);
      }
    const std::int64_t shared = std::int64_t{rows.shared} * columns.shared;
    Pack<T, kV> out;
#pragma unroll
    for (int k = 0; k < kV; ++k) out.v[k] = narrow<T>(sum[k] / static_cast<C>(shared > 0 ? shared : 1));
    static_cast<Pack<T, kV>*>(y)[o] = out;
  }
}

template <class T, int kV>
__global__ void __launch_bounds__(kThreads)
    mean_rows_grad(PoolRows p, std::int64_t inputs, const void* dy, void* dx) {
  using C = Compute<T>;
  const View<T, kV> view(p, dx, dy);
  for (std::int64_t n = thread_number(); n < inputs; n += thread_count()) {
    const At at = at_of(n, p.pool.rows.input, p.pool.columns.input, view.in.packs);
    const Span rows = outputs_of(p.pool.rows, at.row), columns = outputs_of(p.pool.columns, at.column);
    C sum[kV] = {};
    for (int i = rows.first; i <= rows.last; ++i) {
      if (!holds(p.pool.rows, i, at.row)) continue;
      const int height = taps_of(p.pool.rows, i, p.pool.count_include_pad).shared;
      for (int j = columns.first; j <= columns.last; ++j) {
        if (!holds(p.pool.columns, j, at.column)) continue;
        const std::int64_t shared =
            std::int64_t{height} * taps_of(p.pool.columns, j, p.pool.count_include_pad).shared;
        const Pack<T, kV> d = view.out.data[view.out.place(at.image, i, j, at.pack)];
#pragma unroll
        for (int k = 0; k < kV; ++k) sum[k] += widen(d.v[k]) / static_cast<C>(shared > 0 ? shared : 1);
      }
    }
    Pack<T, kV> out;
#pragma unroll
    for (int k = 0; k < kV; ++k) out.v[k] = narrow<T>(sum[k]);
    static_cast<Pack<T, kV>*>(dx)[n] = out;
  }
}

// Calls f.operator()<T, kV>(packs of all inputs, of all outputs): whole packs of 16 bytes, or single
// elements.
template <class F>
void dispatch_rows(DType dtype, const PoolRows& p, F&& f) {
  const std::int64_t in = p.images * p.pool.rows.input * p.pool.columns.input,
                     out = p.images * p.pool.rows.output * p.pool.columns.output;
  dispatch_floats(dtype, [&]<class T>() {
    constexpr int kV = kPack<T>;
    if (p.channels % kV == 0)
      f.template operator()<T, kV>(in * (p.channels / kV), out * (p.channels / kV));
    else
      f.template operator()<T, 1>(in * p.channels, out * p.channels);
    HEADROOM_CUDA_LAUNCHED();
  });
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

void mean_pool_rows(DType dtype, const PoolRows& p, const void* x, void* y, cudaStream_t stream) {
  dispatch_rows(dtype, p, [&]<class T, int kV>(std::int64_t, std::int64_t outputs) {
    mean_rows<T, kV><<<blocks_striding(outputs), kThreads, 0, stream>>>(p, outputs, x, y);
  });
}

void max_pool_grad_rows(DType dtype, const PoolRows& p, const void* dy, const void* x, void* places, void* dx,
                        cudaStream_t stream) {
  if (place_bytes(p.pool) == 1)
    max_grad(dtype, p, dy, x, static_cast<unsigned char*>(places), dx, stream);
  else
    max_grad(dtype, p, dy, x, static_cast<int*>(places), dx, stream);
}

void mean_pool_grad_rows(DType dtype, const PoolRows& p, const void* dy, void* dx, cudaStream_t stream) {
  dispatch_rows(dtype, p, [&]<class T, int kV>(std::int64_t inputs, std::int64_t) {
    mean_rows_grad<T, kV><<<blocks_striding(inputs), kThreads, 0, stream>>>(p, inputs, dy, dx);
  });
}

}  // namespace headroom::cuda
