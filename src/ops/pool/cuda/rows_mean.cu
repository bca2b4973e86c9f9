// Means in NHWC: a thread takes 16 bytes of channels of a window, or of an element; neighbours take the next
// channels. Means of large windows are shared out over the threads of a block. Bound by memory.
#include "ops/pool/cuda/rows.cuh"

namespace headroom::cuda {
namespace {

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

// A block for `tile` packs of a window, a power of two: the other threads take elements in turn, and their
// sums are joined by a tree. Rounds less than one long sum, and has more in flight where windows are few.
template <class T, int kV>
__global__ void __launch_bounds__(kThreads)
    mean_rows_shared(PoolRows p, std::int64_t blocks, int tile, const void* x, void* y) {
  using C = Compute<T>;
  __shared__ C parts[kV][kThreads];
  const View<T, kV> view(p, x, y);
  const int thread = static_cast<int>(threadIdx.x), line = thread / tile, lines = kThreads / tile;
  for (std::int64_t b = blockIdx.x; b < blocks; b += gridDim.x) {
    const At at = at_of(b, p.pool.rows.output, p.pool.columns.output, (view.in.packs + tile - 1) / tile);
    const int pack = at.pack * tile + thread % tile;
    const Taps rows = taps_of(p.pool.rows, at.row, p.pool.count_include_pad),
               columns = taps_of(p.pool.columns, at.column, p.pool.count_include_pad);
    C sum[kV] = {};
    const int taps = pack < view.in.packs ? rows.count * columns.count : 0;
#pragma unroll 4
    for (int n = line; n < taps; n += lines) {
      const int r = n / columns.count, c = n - r * columns.count;
      const Pack<T, kV> v = view.in.data[view.in.place(at.image, rows.begin + r * rows.step,
                                                       columns.begin + c * columns.step, pack)];
#pragma unroll
      for (int k = 0; k < kV; ++k) sum[k] += widen(v.v[k]);
    }
#pragma unroll
    for (int k = 0; k < kV; ++k) parts[k][thread] = sum[k];
    for (int step = lines / 2; step > 0; step /= 2) {
      __syncthreads();
      if (line >= step) continue;
#pragma unroll
      for (int k = 0; k < kV; ++k) parts[k][thread] += parts[k][thread + step * tile];
    }
    // The first line's threads wrote these sums themselves.
    if (line == 0 && pack < view.in.packs) {
      const std::int64_t shared = std::int64_t{rows.shared} * columns.shared;
      Pack<T, kV> out;
#pragma unroll
      for (int k = 0; k < kV; ++k)
        out.v[k] = narrow<T>(parts[k][thread] / static_cast<C>(shared > 0 ? shared : 1));
      static_cast<Pack<T, kV>*>(y)[view.out.place(at.image, at.row, at.column, pack)] = out;
    }
    __syncthreads();
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

std::int64_t window_elements(const Pool& p) {
  const auto extent = [](const PoolAxis& a) {
    return std::int64_t{a.adaptive ? a.input / a.output : a.kernel};
  };
  return extent(p.rows) * extent(p.columns);
}

// Windows that round too much in one sum; smaller ones where a thread each would leave a GPU idle.
bool shares_windows(const Pool& p, std::int64_t outputs) {
  constexpr std::int64_t kLong = 256, kWorthwhile = 32, kFull = 132 * 1024;
  const std::int64_t elements = window_elements(p);
  return elements >= kLong || (elements >= kWorthwhile && outputs < kFull);
}

}  // namespace

void mean_pool_rows(DType dtype, const PoolRows& p, const void* x, void* y, cudaStream_t stream) {
  dispatch_rows(dtype, p, [&]<class T, int kV>(std::int64_t, std::int64_t outputs) {
    if (!shares_windows(p.pool, outputs)) {
      mean_rows<T, kV><<<blocks_striding(outputs), kThreads, 0, stream>>>(p, outputs, x, y);
      return;
    }
    const int packs = p.channels / kV;
    int tile = 1;  // up to 256 bytes of channels
    while (tile < 16 && tile < packs) tile *= 2;
    const std::int64_t blocks = outputs / packs * ((packs + tile - 1) / tile);
    mean_rows_shared<T, kV><<<blocks_striding(blocks, 1), kThreads, 0, stream>>>(p, blocks, tile, x, y);
  });
}

void mean_pool_grad_rows(DType dtype, const PoolRows& p, const void* dy, void* dx, cudaStream_t stream) {
  dispatch_rows(dtype, p, [&]<class T, int kV>(std::int64_t inputs, std::int64_t) {
    mean_rows_grad<T, kV><<<blocks_striding(inputs), kThreads, 0, stream>>>(p, inputs, dy, dx);
  });
}

}  // namespace headroom::cuda
