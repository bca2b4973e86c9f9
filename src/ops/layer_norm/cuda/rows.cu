// A warp takes a row, a block where rows are long. Rows are read twice, from memory and then from the first
// cache. Statistics are summed in fp64, less an element of the row, so that a mean far from zero costs no
// digits. Memory is the limit.
#include "ops/cuda/fold.cuh"
#include "ops/cuda/index.cuh"
#include "ops/layer_norm/cuda/rows.h"

namespace headroom::cuda {
namespace {

constexpr std::int64_t kLongRow = 2048;

// kV elements in accesses of 16 bytes at the most.
template <int kV, class T>
__device__ void load(const T* from, T (&to)[kV]) {
  constexpr int kAtOnce = kV < kPack<T> ? kV : kPack<T>;
#pragma unroll
  for (int i = 0; i < kV; i += kAtOnce) {
    const auto pack = *reinterpret_cast<const Pack<T, kAtOnce>*>(from + i);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) to[i + k] = pack.v[k];
  }
}

// fp64 has no digits to spare: there the mean of a few elements, so that little is left to cancel.
template <class T>
__device__ double center_of(const T* x, std::int64_t n) {
  constexpr int kSamples = sizeof(T) == 8 ? 8 : 1;
  double sum = 0;
#pragma unroll
  for (int k = 0; k < kSamples; ++k) sum += double{widen(x[k * n / kSamples])};
  return sum / kSamples;
}

template <int kLanes, class V>
__device__ V sum_row(V x, V* shared) {
  if constexpr (kLanes == 32)
    return sum_lanes(x);
  else
    return fold_block(x, V{0}, shared, Plus{});
}

template <class T, class P, int kV, int kLanes>
__global__ void __launch_bounds__(kThreads)
    norm_rows(LayerNorm p, const T* x, const P* scale, const P* bias, T* y, double* means, double* inv_stds) {
  using C = Compute<T>;
  __shared__ double shared[2][32];
  const int lane = threadIdx.x % kLanes;
  const std::int64_t n = p.columns, row = thread_number() / kLanes;
  if (row >= p.rows) return;  // whole warps, or none of the block
  x += row * n, y += row * n;
  const double center = center_of(x, n);
  double sum = 0, squares = 0;
#pragma unroll 4
  for (std::int64_t c = lane * kV; c < n; c += kLanes * kV) {
    T v[kV];
    load<kV>(x + c, v);
#pragma unroll
    for (int k = 0; k < kV; ++k) {
      const double away = double{widen(v[k])} - center;
      sum += away, squares = fma(away, away, squares);
    }
  }
  sum = sum_row<kLanes>(sum, shared[0]), squares = sum_row<kLanes>(squares, shared[1]);
  const double count = static_cast<double>(n), mean = center + sum / count;
  double m2 = squares - sum * sum / count;
  if (m2 < 0) m2 = 0;  // NaN stays
  const double inv_std = 1 / sqrt(m2 / count + p.epsilon);
  if (lane == 0) means[row] = mean, inv_stds[row] = inv_std;
  const C high = static_cast<C>(mean), inv = static_cast<C>(inv_std),
          rest = static_cast<C>((double{high} - mean) * inv_std);
#pragma unroll 2
  for (std::int64_t c = lane * kV; c < n; c += kLanes * kV) {
    T v[kV];
    P s[kV], b[kV];
    load<kV>(x + c, v), load<kV>(scale + c, s), load<kV>(bias + c, b);
    Pack<T, kV> out;
#pragma unroll
    for (int k = 0; k < kV; ++k)
      out.v[k] = narrow<T>(((widen(v[k]) - high) * inv + rest) * widen(s[k]) + widen(b[k]));
    *reinterpret_cast<Pack<T, kV>*>(y + c) = out;
  }
}

// A row's statistics as the arithmetic's type takes them: x - mean is (x - high) - low.
template <class C>
struct Row {
  C high, low, inv;
  __device__ Row(double mean, double inv_std)
      : high(static_cast<C>(mean)), low(static_cast<C>(mean - double{high})), inv(static_cast<C>(inv_std)) {}
  __device__ C normal(C x) const { return ((x - high) - low) * inv; }
};

template <class T, class P, int kV, int kLanes>
__global__ void __launch_bounds__(kThreads) grad_rows(LayerNorm p, LayerNormGrad t) {
  using C = Compute<T>;
  __shared__ C shared[2][32];
  const int lane = threadIdx.x % kLanes;
  const std::int64_t n = p.columns, row = thread_number() / kLanes;
  if (row >= p.rows) return;
  const T *dy = static_cast<const T*>(t.dy) + row * n, *x = static_cast<const T*>(t.x) + row * n;
  const P* scale = static_cast<const P*>(t.scale);
  const Row<C> own(t.mean[row], t.inv_std[row]);
  C sum = 0, product = 0;
#pragma unroll 2
  for (std::int64_t c = lane * kV; c < n; c += kLanes * kV) {
    T v[kV], d[kV];
    P s[kV];
    load<kV>(x + c, v), load<kV>(dy + c, d), load<kV>(scale + c, s);
#pragma unroll
    for (int k = 0; k < kV; ++k) {
      const C g = widen(d[k]) * widen(s[k]);
      sum += g, product += g * own.normal(widen(v[k]));
    }
  }
  sum = sum_row<kLanes>(sum, shared[0]), product = sum_row<kLanes>(product, shared[1]);
  const C mean = sum / static_cast<C>(n), slope = product / static_cast<C>(n);
#pragma unroll 2
  for (std::int64_t c = lane * kV; c < n; c += kLanes * kV) {
    T v[kV], d[kV];
    P s[kV];
    load<kV>(x + c, v), load<kV>(dy + c, d), load<kV>(scale + c, s);
    Pack<T, kV> out;
#pragma unroll
    for (int k = 0; k < kV; ++k)
      out.v[k] = narrow<T>(own.inv * (widen(d[k]) * widen(s[k]) - (mean + own.normal(widen(v[k])) * slope)));
    *reinterpret_cast<Pack<T, kV>*>(static_cast<T*>(t.dx) + row * n + c) = out;
  }
}

// Sums over a part of the rows: eight warps side by side in rows, lanes in columns.
template <class T, int kV>
__global__ void __launch_bounds__(kThreads) grad_columns(LayerNorm p, LayerNormGrad t) {
  using C = Compute<T>;
  constexpr int kHigh = kThreads / 32;
  __shared__ C shared[kHigh][2][kV * 32];
  const int lane = threadIdx.x % 32, high = threadIdx.x / 32;
  const std::int64_t n = p.columns, column = (std::int64_t{blockIdx.x} * 32 + lane) * kV, part = blockIdx.y;
  C scale_sum[kV] = {}, bias_sum[kV] = {};
  if (column < n)
#pragma unroll 4
    for (std::int64_t r = part * p.rows / p.parts + high; r < (part + 1) * p.rows / p.parts; r += kHigh) {
      T v[kV], d[kV];
      load<kV>(static_cast<const T*>(t.x) + r * n + column, v);
      load<kV>(static_cast<const T*>(t.dy) + r * n + column, d);
      const Row<C> own(t.mean[r], t.inv_std[r]);
#pragma unroll
      for (int k = 0; k < kV; ++k) {
        scale_sum[k] += widen(d[k]) * own.normal(widen(v[k]));
        bias_sum[k] += widen(d[k]);
      }
    }
#pragma unroll
  for (int k = 0; k < kV; ++k)
    shared[high][0][lane + 32 * k] = scale_sum[k], shared[high][1][lane + 32 * k] = bias_sum[k];
  __syncthreads();
  if (column >= n || high >= 2) return;  // the first warp adds up for scale, the second for bias
  C* partial = static_cast<C*>(t.workspace) + (2 * part + high) * n + column;
#pragma unroll
  for (int k = 0; k < kV; ++k) {
    C sum = 0;
    for (int h = 0; h < kHigh; ++h) sum += shared[h][high][lane + 32 * k];
    partial[k] = sum;
  }
}

template <class C, class P>
__global__ void __launch_bounds__(kThreads) join_parts(LayerNorm p, const C* partial, P* dscale, P* dbias) {
  constexpr int kHigh = kThreads / 32;
  __shared__ double shared[kHigh][32];
  const int lane = threadIdx.x % 32, high = threadIdx.x / 32;
  const std::int64_t column = std::int64_t{blockIdx.x} * 32 + lane;
  double sum = 0;
  if (column < p.columns)
#pragma unroll 4
    for (std::int64_t k = high; k < p.parts; k += kHigh)
      sum += double{partial[(2 * k + blockIdx.y) * p.columns + column]};
  shared[high][lane] = sum;
  __syncthreads();
  if (high != 0 || column >= p.columns) return;
  for (int h = 1; h < kHigh; ++h) sum += shared[h][lane];
  (blockIdx.y == 0 ? dscale : dbias)[column] = narrow<P>(static_cast<Compute<P>>(sum));
}

// Calls f.operator()<T, P>() with the types of x and of the parameters: the same, or fp32 beside 16 bits.
template <class F>
void dispatch_pairs(const LayerNorm& p, F&& f) {
  dispatch_floats(p.dtype, [&]<class T>() {
    if constexpr (sizeof(T) == 2) {
      if (p.parameters == DType::f32) return f.template operator()<T, float>();
    }
    f.template operator()<T, T>();
  });
}

// Calls f.operator()<kV, kLanes>() with vectors where rows and addresses allow, and threads for a row.
template <class T, class F>
void dispatch_rows(const LayerNorm& p, bool vectors, F&& f) {
  const bool whole = vectors && p.columns % kPack<T> == 0;
  if (p.columns <= kLongRow)
    return whole ? f.template operator()<kPack<T>, 32>() : f.template operator()<1, 32>();
  whole ? f.template operator()<kPack<T>, kThreads>() : f.template operator()<1, kThreads>();
}

}  // namespace

void layer_norm(const LayerNorm& p, const void* x, const void* scale, const void* bias, void* y, double* mean,
                double* inv_std, cudaStream_t stream) {
  const bool vectors = aligned(x) && aligned(scale) && aligned(bias) && aligned(y);
  dispatch_pairs(p, [&]<class T, class P>() {
    dispatch_rows<T>(p, vectors, [&]<int kV, int kLanes>() {
      norm_rows<T, P, kV, kLanes><<<blocks_for(p.rows, kThreads / kLanes), kThreads, 0, stream>>>(
          p, static_cast<const T*>(x), static_cast<const P*>(scale), static_cast<const P*>(bias),
          static_cast<T*>(y), mean, inv_std);
      HEADROOM_CUDA_LAUNCHED();
    });
  });
}

void layer_norm_grad(const LayerNorm& p, const LayerNormGrad& t, cudaStream_t stream) {
  const bool vectors = aligned(t.dy) && aligned(t.x) && aligned(t.scale) && aligned(t.dx);
  dispatch_pairs(p, [&]<class T, class P>() {
    dispatch_rows<T>(p, vectors, [&]<int kV, int kLanes>() {
      grad_rows<T, P, kV, kLanes><<<blocks_for(p.rows, kThreads / kLanes), kThreads, 0, stream>>>(p, t);
      HEADROOM_CUDA_LAUNCHED();
    });
    constexpr int kMax = kPack<T> < 4 ? kPack<T> : 4;
    const auto parts = static_cast<unsigned>(p.parts);
    if (vectors && p.columns % kMax == 0)
      grad_columns<T, kMax><<<dim3(blocks_for(p.columns, 32 * kMax), parts), kThreads, 0, stream>>>(p, t);
    else
      grad_columns<T, 1><<<dim3(blocks_for(p.columns, 32), parts), kThreads, 0, stream>>>(p, t);
    HEADROOM_CUDA_LAUNCHED();
    join_parts<<<dim3(blocks_for(p.columns, 32), 2), kThreads, 0, stream>>>(
        p, static_cast<const Compute<T>*>(t.workspace), static_cast<P*>(t.dscale), static_cast<P*>(t.dbias));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
