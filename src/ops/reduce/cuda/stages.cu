// Memory is the limit: enough independent loads in flight, neighbours side by side. Partial results are
// joined in an order that the shape alone decides.
#include <limits>
#include <type_traits>

#include "ops/cuda/fold.cuh"
#include "ops/cuda/value_of.cuh"
#include "ops/reduce/cuda/stages.h"

namespace headroom::cuda {
namespace {

// The type that elements are joined in: integers stay what they are.
template <class T>
struct JoinedOf {
  using type = Compute<T>;
};
template <>
struct JoinedOf<long long> {
  using type = long long;
};
template <>
struct JoinedOf<int> {
  using type = int;
};
template <class T>
using Joined = typename JoinedOf<T>::type;

struct Addition {
  template <class C>
  static __device__ C none() {
    return 0;
  }
  template <class C>
  __device__ C operator()(C a, C b) const {
    if constexpr (std::is_integral_v<C>) {  // wraps around
      using U = std::make_unsigned_t<C>;
      return static_cast<C>(static_cast<U>(a) + static_cast<U>(b));
    } else {
      return a + b;
    }
  }
};

struct Maximum {
  template <class C>
  static __device__ C none() {
    if constexpr (std::is_integral_v<C>) {
      constexpr C kLeast = std::numeric_limits<C>::min();
      return kLeast;
    } else {
      return -static_cast<C>(INFINITY);
    }
  }
  template <class C>
  __device__ C operator()(C a, C b) const {
    return a > b || a != a ? a : b;  // a NaN on either side wins
  }
};

// There is one result for many elements: its type may cost a branch.
struct Result {
  void* y;
  DType dtype;
  double scale;
  template <class C>
  __device__ void set(std::int64_t i, C x) const {
    x *= static_cast<C>(scale);
    switch (dtype) {
      case DType::f64:
        static_cast<double*>(y)[i] = static_cast<double>(x);
        return;
      case DType::i64:
        static_cast<long long*>(y)[i] = static_cast<long long>(x);
        return;
      case DType::i32:
        static_cast<int*>(y)[i] = static_cast<int>(x);
        return;
      case DType::f16:
        static_cast<Half*>(y)[i] = narrow<Half>(static_cast<float>(x));
        return;
      case DType::bf16:
        static_cast<Brain*>(y)[i] = narrow<Brain>(static_cast<float>(x));
        return;
      default:
        static_cast<float*>(y)[i] = static_cast<float>(x);
    }
  }
};

// x[first], x[first + step], … before x[end], joined; kDeep loads in flight, each into a chain of its own.
template <class F, class T>
__device__ Joined<T> strided(const T* x, std::int64_t first, std::int64_t end, std::int64_t step) {
  using C = Joined<T>;
  constexpr int kDeep = 8;
  C chain[kDeep];
#pragma unroll
  for (int u = 0; u < kDeep; ++u) chain[u] = F::template none<C>();
  std::int64_t i = first;
  for (; i + (kDeep - 1) * step < end; i += kDeep * step)
#pragma unroll
    for (int u = 0; u < kDeep; ++u) chain[u] = F{}(chain[u], value_of(x[i + u * step]));
#pragma unroll
  for (int u = 0; u < kDeep - 1; ++u)
    if (i + u * step < end) chain[u] = F{}(chain[u], value_of(x[i + u * step]));
#pragma unroll
  for (int half = kDeep / 2; half > 0; half /= 2)
#pragma unroll
    for (int u = 0; u < half; ++u) chain[u] = F{}(chain[u], chain[u + half]);
  return chain[0];
}

template <class F, class T, int kLanes>
__global__ void __launch_bounds__(kThreads) reduce_rows(ReduceStage s, const T* x, Result y) {
  using C = Joined<T>;
  const int lane = threadIdx.x % kLanes;
  const std::int64_t r = thread_number() / kLanes, rows = s.outer * s.parts;
  C value = F::template none<C>();
  if (r < rows) {  // a block's rows may end inside a warp, and shuffles want all of it
    const Cut at = cut(r, s.parts);
    const std::int64_t first = at.rest * s.length / s.parts, end = (at.rest + 1) * s.length / s.parts;
    value = strided<F>(x + at.whole * s.length, first + lane, end, kLanes);
  }
  if constexpr (kLanes == kThreads) {
    __shared__ C shared[32];
    value = fold_block(value, F::template none<C>(), shared, F{});
  } else {
    value = fold_lanes<kLanes>(value, F{});
  }
  if (lane == 0 && r < rows) y.set(r, value);
}

// A block takes a part of one outer slice, kThreads rounded down to a multiple of `inner` at a time: each
// thread stays in its column.
template <class F, class T>
__global__ void __launch_bounds__(kThreads) reduce_narrow(ReduceStage s, const T* x, Result y) {
  using C = Joined<T>;
  __shared__ C shared[kThreads];
  const int inner = static_cast<int>(s.inner), t = threadIdx.x;
  int rows = kThreads / inner;
  const Cut at = cut(blockIdx.x, s.parts);
  const std::int64_t first = at.rest * s.length / s.parts, end = (at.rest + 1) * s.length / s.parts;
  C value = F::template none<C>();
  if (t < rows * inner)
    value = strided<F>(x + at.whole * s.length * inner, first * inner + t, end * inner,
                       std::int64_t{rows} * inner);
  shared[t] = value;
  for (; rows > 1; rows = (rows + 1) / 2) {
    __syncthreads();
    if (t < rows / 2 * inner) shared[t] = F{}(shared[t], shared[t + (rows + 1) / 2 * inner]);
  }
  __syncthreads();
  if (t < inner) y.set(blockIdx.x * s.inner + t, shared[t]);
}

template <class F, class T>
__global__ void __launch_bounds__(kThreads)
    reduce_tiles(ReduceStage s, unsigned tiles, const T* x, Result y) {
  using C = Joined<T>;
  constexpr int kHigh = kThreads / 32;
  __shared__ C shared[kHigh][32];
  const int lane = threadIdx.x % 32, high = threadIdx.x / 32;
  const unsigned block = blockIdx.x / tiles;
  const std::int64_t column = std::int64_t{blockIdx.x % tiles} * 32 + lane;
  const Cut at = cut(block, s.parts);
  const std::int64_t first = at.rest * s.length / s.parts, end = (at.rest + 1) * s.length / s.parts;
  C value = F::template none<C>();
  if (column < s.inner)
    value = strided<F>(x + at.whole * s.length * s.inner + column, (first + high) * s.inner, end * s.inner,
                       kHigh * s.inner);
  shared[high][lane] = value;
  __syncthreads();
  if (high != 0 || column >= s.inner) return;
#pragma unroll
  for (int h = 1; h < kHigh; ++h) value = F{}(value, shared[h][lane]);
  y.set(block * s.inner + column, value);
}

template <class F, class T>
__global__ void __launch_bounds__(kThreads) reduce_serial(ReduceStage s, const T* x, Result y) {
  const std::int64_t r = thread_number();
  if (r >= s.outer * s.inner) return;
  const Cut at = cut(r, s.inner);
  y.set(r, strided<F>(x + at.whole * s.length * s.inner, at.rest, s.length * s.inner, s.inner));
}

template <class F, class T>
void launch(const ReduceStage& s, const T* x, const Result& y, cudaStream_t stream) {
  using Way = ReduceStage::Way;
  const std::int64_t rows = s.outer * s.parts;
  if (s.way == Way::short_rows) {
    reduce_rows<F, T, 8><<<blocks_for(rows, kThreads / 8), kThreads, 0, stream>>>(s, x, y);
  } else if (s.way == Way::rows) {
    reduce_rows<F, T, 32><<<blocks_for(rows, kThreads / 32), kThreads, 0, stream>>>(s, x, y);
  } else if (s.way == Way::long_rows) {
    reduce_rows<F, T, kThreads><<<blocks_for(rows, 1), kThreads, 0, stream>>>(s, x, y);
  } else if (s.way == Way::narrow) {
    reduce_narrow<F, T><<<blocks_for(rows, 1), kThreads, 0, stream>>>(s, x, y);
  } else if (s.way == Way::tiles) {
    const unsigned tiles = blocks_for(s.inner, 32);
    reduce_tiles<F, T><<<blocks_for(rows * tiles, 1), kThreads, 0, stream>>>(s, tiles, x, y);
  } else {
    reduce_serial<F, T><<<blocks_for(s.outer * s.inner), kThreads, 0, stream>>>(s, x, y);
  }
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void reduce_stage(bool max, const ReduceStage& s, DType from, const void* x, double scale, DType to, void* y,
                  cudaStream_t stream) {
  const Result result{y, to, scale};
  const auto run = [&]<class T>() {
    if (max)
      launch<Maximum, T>(s, static_cast<const T*>(x), result, stream);
    else
      launch<Addition, T>(s, static_cast<const T*>(x), result, stream);
  };
  if (from == DType::i64) return run.template operator()<long long>();
  if (from == DType::i32) return run.template operator()<int>();
  dispatch_floats(from, run);
}

}  // namespace headroom::cuda
