// 2x2 windows that step by 2 over planes of even extents. Rows of output follow each other without a gap, and
// so do pairs of rows of input: an output's number is all that is needed to find its window. Memory is the
// limit: a thread moves 16 bytes of either row where the width allows.
#include "ops/cuda/index.cuh"
#include "ops/pool/cuda/exceeds.cuh"
#include "ops/pool/cuda/windows.h"

namespace headroom::cuda {
namespace {

template <class C>
struct Largest {
  static constexpr bool kReadsInput = true;
  static __device__ C forward(const C (&x)[4]) {
    C best = x[0];
#pragma unroll
    for (int k = 1; k < 4; ++k)
      if (exceeds(x[k], best)) best = x[k];
    return best;
  }
  static __device__ void backward(int slope, C dy, const C (&x)[4], C (&dx)[4]) {
    C best = x[0];
    int at = 0;
#pragma unroll
    for (int k = 1; k < 4; ++k)
      if (exceeds(x[k], best)) best = x[k], at = k;
    dy = sloped(slope, dy, best);
#pragma unroll
    for (int k = 0; k < 4; ++k) dx[k] = at == k ? dy : C{0};
  }
};

template <class C>
struct Mean {
  static constexpr bool kReadsInput = false;
  static __device__ C forward(const C (&x)[4]) { return (((x[0] + x[1]) + x[2]) + x[3]) / 4; }
  static __device__ void backward(int, C dy, const C (&)[4], C (&dx)[4]) {
#pragma unroll
    for (int k = 0; k < 4; ++k) dx[k] = dy / 4;
  }
};

// Pack number `at`, in one access or, where the address does not allow that, element by element.
template <bool kWhole, class T, int kN>
__device__ Pack<T, kN> load(const T* from, std::int64_t at) {
  if constexpr (kWhole) {
    return reinterpret_cast<const Pack<T, kN>*>(from)[at];
  } else {
    Pack<T, kN> pack;
#pragma unroll
    for (int i = 0; i < kN; ++i) pack.v[i] = from[at * kN + i];
    return pack;
  }
}
template <bool kWhole, class T, int kN>
__device__ void store(T* to, std::int64_t at, const Pack<T, kN>& pack) {
  if constexpr (kWhole)
    reinterpret_cast<Pack<T, kN>*>(to)[at] = pack;
  else
#pragma unroll
    for (int i = 0; i < kN; ++i) to[at * kN + i] = pack.v[i];
}

// Work is numbered in groups of kV outputs; `width` is the groups of a row.
template <template <class> class F, class T, int kV, bool kWhole>
__global__ void __launch_bounds__(kThreads) forward_pairs(std::int64_t groups, int width, const T* x, T* y) {
  using C = Compute<T>;
  using Row = Pack<T, 2 * kV>;
  for (std::int64_t g = thread_number(); g < groups; g += thread_count()) {
    const Cut at = cut(g, width);
    const std::int64_t above = at.whole * 2 * width + at.rest;
    const Row first = load<kWhole, T, 2 * kV>(x, above), second = load<kWhole, T, 2 * kV>(x, above + width);
    Pack<T, kV> out;
#pragma unroll
    for (int v = 0; v < kV; ++v) {
      const C window[4] = {widen(first.v[2 * v]), widen(first.v[2 * v + 1]), widen(second.v[2 * v]),
                           widen(second.v[2 * v + 1])};
      out.v[v] = narrow<T>(F<C>::forward(window));
    }
    store<kWhole>(y, g, out);
  }
}

template <template <class> class F, class T, int kV, bool kWhole>
__global__ void __launch_bounds__(kThreads)
    backward_pairs(std::int64_t groups, int width, int slope, const T* dy, const T* x, T* dx) {
  using C = Compute<T>;
  using Row = Pack<T, 2 * kV>;
  for (std::int64_t g = thread_number(); g < groups; g += thread_count()) {
    const Cut at = cut(g, width);
    const std::int64_t above = at.whole * 2 * width + at.rest;
    const Pack<T, kV> given = load<kWhole, T, kV>(dy, g);
    Row first = {}, second = {};
    if constexpr (F<C>::kReadsInput) {
      first = load<kWhole, T, 2 * kV>(x, above);
      second = load<kWhole, T, 2 * kV>(x, above + width);
    }
#pragma unroll
    for (int v = 0; v < kV; ++v) {
      const C window[4] = {widen(first.v[2 * v]), widen(first.v[2 * v + 1]), widen(second.v[2 * v]),
                           widen(second.v[2 * v + 1])};
      C share[4];
      F<C>::backward(slope, widen(given.v[v]), window, share);
      first.v[2 * v] = narrow<T>(share[0]), first.v[2 * v + 1] = narrow<T>(share[1]);
      second.v[2 * v] = narrow<T>(share[2]), second.v[2 * v + 1] = narrow<T>(share[3]);
    }
    store<kWhole>(dx, above, first);
    store<kWhole>(dx, above + width, second);
  }
}

// Calls f.operator()<T, kV, kWhole>(groups, width) with the longest vectors that rows and addresses allow: kV
// outputs, twice that of input. A null pointer allows everything.
template <class T, int kV, class F>
void with_width(const Pool& pool, const void* x, const void* dx, const void* y, F&& f) {
  const bool fits = aligned_to(x, 2 * kV * sizeof(T)) && aligned_to(dx, 2 * kV * sizeof(T)) &&
                    aligned_to(y, kV * sizeof(T));
  const int width = pool.columns.output / kV;
  const std::int64_t groups = pool.planes * pool.rows.output * width;
  if (fits && pool.columns.output % kV == 0)
    f.template operator()<T, kV, true>(groups, width);
  else if constexpr (kV > 1)
    return with_width<T, kV / 2>(pool, x, dx, y, f);
  else
    f.template operator()<T, 1, false>(groups, width);
  HEADROOM_CUDA_LAUNCHED();
}

template <template <class> class F>
void forward(DType dtype, const Pool& pool, const void* x, void* y, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class U>() {
    with_width<U, kPack<U> / 2>(
        pool, x, nullptr, y, [&]<class T, int kV, bool kWhole>(std::int64_t groups, int width) {
          forward_pairs<F, T, kV, kWhole><<<blocks_striding(groups), kThreads, 0, stream>>>(
              groups, width, static_cast<const T*>(x), static_cast<T*>(y));
        });
  });
}

template <template <class> class F>
void backward(DType dtype, const Pool& pool, const void* dy, const void* x, void* dx, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class U>() {
    with_width<U, kPack<U> / 2>(
        pool, x, dx, dy, [&]<class T, int kV, bool kWhole>(std::int64_t groups, int width) {
          backward_pairs<F, T, kV, kWhole><<<blocks_striding(groups), kThreads, 0, stream>>>(
              groups, width, pool.slope, static_cast<const T*>(dy), static_cast<const T*>(x),
              static_cast<T*>(dx));
        });
  });
}

}  // namespace

void max_pool_pairs(DType dtype, const Pool& pool, const void* x, void* y, cudaStream_t stream) {
  forward<Largest>(dtype, pool, x, y, stream);
}
void mean_pool_pairs(DType dtype, const Pool& pool, const void* x, void* y, cudaStream_t stream) {
  forward<Mean>(dtype, pool, x, y, stream);
}
void max_pool_grad_pairs(DType dtype, const Pool& pool, const void* dy, const void* x, void* dx,
                         cudaStream_t stream) {
  backward<Largest>(dtype, pool, dy, x, dx, stream);
}
void mean_pool_grad_pairs(DType dtype, const Pool& pool, const void* dy, void* dx, cudaStream_t stream) {
  backward<Mean>(dtype, pool, dy, nullptr, dx, stream);
}

}  // namespace headroom::cuda
