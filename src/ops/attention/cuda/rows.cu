// A block for every row, of any width: what is left to the wide heads that the faster kernels refuse. Also
// the sums of dy * y, which they all begin their gradients with.
#include "ops/attention/cuda/head.cuh"
#include "ops/attention/cuda/sizes.h"
#include "ops/cuda/block.cuh"

namespace headroom::cuda {
namespace {

constexpr int kRowThreads = 128;  // and as many rows of the other kind at a time

// The product of two rows, by one warp.
template <class T>
__device__ Compute<T> row_dot(int width, const Compute<T>* own, const T* other) {
  Compute<T> sum = 0;
  for (int d = static_cast<int>(threadIdx.x) % 32; d < width; d += 32) sum += own[d] * widen(other[d]);
  return warp_sum(sum);
}

template <class T>
__device__ void load_row(int width, const T* from, Compute<T>* to) {
  for (int d = static_cast<int>(threadIdx.x); d < width; d += kRowThreads) to[d] = widen(from[d]);
}

// acc = keep * acc + sum of weight[j] * row (first + j).
template <class T>
__device__ void add_rows(int width, const Compute<T>* weight, HeadRows<const T> rows, std::int64_t first,
                         int count, Compute<T> keep, Compute<T>* acc) {
  for (int d = static_cast<int>(threadIdx.x); d < width; d += kRowThreads) {
    Compute<T> sum = acc[d] * keep;
    for (int j = 0; j < count; ++j) sum += weight[j] * widen(rows.row(first + j)[d]);
    acc[d] = sum;
  }
}

template <class T>
__global__ __launch_bounds__(kRowThreads) void forward(AttentionShape s, const T* qkv, T* y,
                                                       Compute<T>* lse) {
  using C = Compute<T>;
  extern __shared__ __align__(16) unsigned char memory[];
  const int width = static_cast<int>(s.width), thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  C *q = reinterpret_cast<C*>(memory), *acc = q + width, *weight = acc + width;
  const Place at = place_of(s, 1, s.causal);
  const HeadRows<const T> keys = part_of(s, qkv, at.head, 1), values = part_of(s, qkv, at.head, 2);
  load_row(width, part_of(s, qkv, at.head, 0).row(at.first), q);
  for (int d = thread; d < width; d += kRowThreads) acc[d] = 0;
  __syncthreads();
  const std::int64_t end = s.causal ? at.first + 1 : s.time;
  C most = 0, sum = 0;
  for (std::int64_t u = 0; u < end; u += kRowThreads) {
    const int count = static_cast<int>(end - u < kRowThreads ? end - u : kRowThreads);
    for (int j = warp; j < count; j += kRowThreads / 32) {
      const C dot = row_dot(width, q, keys.row(u + j));
      if (thread % 32 == 0) weight[j] = static_cast<C>(s.scale) * dot;
    }
    __syncthreads();
    const C x = weight[thread < count ? thread : 0], top = block_max(x);
    const C now = u == 0 || top > most ? top : most, e = thread < count ? exp(x - now) : C{0};
    const C keep = u == 0 ? C{0} : exp(most - now);
    sum = sum * keep + block_sum(e);  // its barriers also part the readings of weight from the writing
    most = now;
    weight[thread] = e;
    __syncthreads();
    add_rows(width, weight, values, u, count, keep, acc);
    __syncthreads();
  }
  T* to = result_of(s, y, at.head).row(at.first);
  for (int d = thread; d < width; d += kRowThreads) to[d] = narrow<T>(acc[d] / sum);
  if (thread == 0) lse[at.head * s.time + at.first] = most + log(sum);
}

template <class T, bool kOwnsKeys>
__global__ __launch_bounds__(kRowThreads) void backward(AttentionShape s, const T* qkv, const T* dy,
                                                        const Compute<T>* lse, const Compute<T>* along,
                                                        T* dqkv) {
  using C = Compute<T>;
  extern __shared__ __align__(16) unsigned char memory[];
  const int width = static_cast<int>(s.width), thread = static_cast<int>(threadIdx.x), warp = thread / 32;
  C *own = reinterpret_cast<C*>(memory), *own_grad = own + width, *acc = own_grad + width,
    *acc_value = acc + width, *ds = acc_value + width, *p = ds + kRowThreads;
  const Place at = place_of(s, 1, s.causal && !kOwnsKeys);
  const GradientRows<T, kOwnsKeys> rows = gradient_rows<T, kOwnsKeys>(s, qkv, dy, dqkv, at.head);
  load_row(width, rows.own.row(at.first), own);
  load_row(width, rows.own_grad.row(at.first), own_grad);
  for (int d = thread; d < width; d += kRowThreads) acc[d] = acc_value[d] = 0;
  __syncthreads();
  const Span span = other_rows(s, kOwnsKeys, at.first, at.first);
  for (std::int64_t first = span.begin; first < span.end; first += kRowThreads) {
    const int count = static_cast<int>(span.end - first < kRowThreads ? span.end - first : kRowThreads);
    for (int j = warp; j < count; j += kRowThreads / 32) {
      const C score = row_dot(width, own, rows.other.row(first + j)),
              grad = row_dot(width, own_grad, rows.other_grad.row(first + j));
      const std::int64_t t = at.head * s.time + (kOwnsKeys ? first + j : at.first);
      const C weight = exp(static_cast<C>(s.scale) * score - lse[t]);
      if (thread % 32 == 0) {
        p[j] = weight;
        ds[j] = weight * (grad - along[t]);
      }
    }
    __syncthreads();
    add_rows(width, ds, rows.other, first, count, C{1}, acc);
    if (kOwnsKeys) add_rows(width, p, rows.other_grad, first, count, C{1}, acc_value);
    __syncthreads();
  }
  for (int d = thread; d < width; d += kRowThreads) {
    rows.out.row(at.first)[d] = narrow<T>(acc[d] * static_cast<C>(s.scale));
    if (kOwnsKeys) rows.out_value.row(at.first)[d] = narrow<T>(acc_value[d]);
  }
}

// One warp per row.
template <class T>
__global__ void along_rows(AttentionShape s, const T* dy, const T* y, Compute<T>* along) {
  const std::int64_t rows = s.batch * s.heads * s.time,
                     row = std::int64_t{blockIdx.x} * (kThreads / 32) + threadIdx.x / 32;
  if (row >= rows) return;
  const std::int64_t head = row / s.time, t = row % s.time;
  const T *a = result_of(s, dy, head).row(t), *b = result_of(s, y, head).row(t);
  Compute<T> sum = 0;
  for (std::int64_t d = threadIdx.x % 32; d < s.width; d += 32) sum += widen(a[d]) * widen(b[d]);
  sum = warp_sum(sum);
  if (threadIdx.x % 32 == 0) along[row] = sum;
}

template <class T>
void run(const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  using C = Compute<T>;
  const unsigned blocks = head_blocks(s, 1);
  const auto width = static_cast<std::size_t>(s.width);
  const T *qkv = static_cast<const T*>(a.qkv), *dy = static_cast<const T*>(a.dy);
  T *y = static_cast<T*>(a.y), *dqkv = static_cast<T*>(a.dqkv);
  C *lse = static_cast<C*>(a.lse), *along = static_cast<C*>(a.along);
  if (dy == nullptr) {
    const std::size_t bytes = (2 * width + kRowThreads) * sizeof(C);
    forward<T><<<blocks, kRowThreads, bytes, stream>>>(s, qkv, y, lse);
  } else {
    const std::size_t bytes = (4 * width + 2 * kRowThreads) * sizeof(C);
    backward<T, false><<<blocks, kRowThreads, bytes, stream>>>(s, qkv, dy, lse, along, dqkv);
    HEADROOM_CUDA_LAUNCHED();
    backward<T, true><<<blocks, kRowThreads, bytes, stream>>>(s, qkv, dy, lse, along, dqkv);
  }
  HEADROOM_CUDA_LAUNCHED();
}

static_assert((4 * attention::kMaxRowWidth + 2 * kRowThreads) * sizeof(double) <= 47 * 1024);

}  // namespace

void attention_rows(DType dtype, const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() { run<T>(s, a, stream); });
}

void attention_along(DType dtype, const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  const unsigned blocks = blocks_for(s.batch * s.heads * s.time, kThreads / 32);
  dispatch_floats(dtype, [&]<class T>() {
    const T *dy = static_cast<const T*>(a.dy), *y = static_cast<const T*>(a.y);
    Compute<T>* along = static_cast<Compute<T>*>(a.along);
    along_rows<T><<<blocks, kThreads, 0, stream>>>(s, dy, y, along);
  });
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
