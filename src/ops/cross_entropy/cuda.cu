// Probabilities, loss and count in one launch: each block leaves the sum of its rows' losses, and the last
// one adds them up, in fp64 and in order.
#include "ops/cross_entropy/cuda.h"

#include "ops/cuda/labels.cuh"
#include "ops/softmax/cuda/rows.cuh"

namespace headroom::cuda {
namespace {

__device__ unsigned loss_arrivals;
// Correct rows: the order in which integers are added does not matter.
__device__ unsigned long long loss_correct;

// The score of a row's label; NaN, which no score exceeds and none falls short of, where there is no such
// class.
template <class T>
__device__ Compute<T> own_score(const T* x, std::int64_t classes, std::int64_t label) {
  return label < 0 || label >= classes ? static_cast<Compute<T>>(NAN) : widen(x[label]);
}

template <class C>
__device__ double row_loss(C own, const RowSums<C>& sums) {
  return double{log(sums.sum)} - (double{own} - double{sums.most});
}

// Does class c, of score v, leave the label the first maximum?
template <class C>
__device__ bool yields(std::int64_t c, C v, std::int64_t label, C own) {
  return c < label ? v < own : c > label ? v <= own : own == own;
}

// `loss` is that of this thread, `correct` the block's; all threads of all blocks call.
template <class T>
__device__ void finish(double loss, int correct, double batch, double* parts, T* out, T* count) {
  loss = block_sum(loss);
  if (threadIdx.x == 0) parts[blockIdx.x] = loss;
  if (threadIdx.x == 0 && count != nullptr)
    atomicAdd(&loss_correct, static_cast<unsigned long long>(correct));
  if (!last_to_arrive(&loss_arrivals, gridDim.x)) return;
  loss = block_total(parts, gridDim.x);
  if (threadIdx.x != 0) return;
  *out = narrow<T>(static_cast<Compute<T>>(loss / batch));
  if (count != nullptr) *count = narrow<T>(static_cast<Compute<T>>(atomicExch(&loss_correct, 0ull)));
}

template <class T, int kPer>
__global__ void short_rows(LossShape s, int lanes, const T* x, Labels labels, double* parts, T* loss, T* y,
                           T* count) {
  using C = Compute<T>;
  const auto classes = static_cast<int>(s.classes);
  const RowPlace at = row_place(s.rows, classes, lanes);
  const bool speaks = at.lane == 0 && at.n > 0;  // for the row
  const std::int64_t label = at.n > 0 ? labels[at.row] : -1;
  const T* from = x + at.row * classes;
  C v[kPer];
  load_row<kPer>(from, at, lanes, least<C>(), v);
  const C own = own_score(from, at.n, label);
  int right = 1, correct = 0;
  if (count != nullptr) {
#pragma unroll
    for (int k = 0; k < kPer; ++k)
      if (const int c = k * lanes + at.lane; c < at.n) right &= yields(std::int64_t{c}, v[k], label, own);
    for (int step = lanes / 2; step > 0; step /= 2) right &= __shfl_xor_sync(~0u, right, step);
    correct = __syncthreads_count(speaks && right);
  }
  const RowSums<C> sums = exp_row<kPer>(v, lanes, false);
  const C scale = C{1} / sums.sum;
#pragma unroll
  for (int k = 0; k < kPer; ++k) v[k] *= scale;
  store_row<kPer>(v, at, lanes, y + at.row * classes);
  finish(speaks ? row_loss(own, sums) : 0.0, correct, s.batch, parts, loss, count);
}

template <class T>
__global__ __launch_bounds__(1024) void long_rows(LossShape s, bool cached, const T* x, Labels labels,
                                                  double* parts, T* loss, T* y, T* count) {
  using C = Compute<T>;
  extern __shared__ __align__(16) unsigned char cache[];
  const std::int64_t row = blockIdx.x, base = row * s.classes;
  RowSums<C> sums;
  const T* from = long_row_sums(x + base, s.classes, cached ? reinterpret_cast<T*>(cache) : nullptr, &sums);
  const C scale = C{1} / sums.sum;
  const std::int64_t label = labels[row];
  const C own = own_score(x + base, s.classes, label);
  bool right = true;
#pragma unroll 4
  for (std::int64_t c = threadIdx.x; c < s.classes; c += blockDim.x) {
    const C v = widen(from[c]);
    right &= yields(c, v, label, own);
    y[base + c] = narrow<T>(exp(v - sums.most) * scale);
  }
  const int correct = __syncthreads_and(right) != 0;
  finish(threadIdx.x == 0 ? row_loss(own, sums) : 0.0, correct, s.batch, parts, loss, count);
}

// A thread takes neighbouring elements, which may reach into the next row.
template <class T>
__global__ void slopes(LossShape s, bool whole, const T* dloss, const T* y, Labels labels, T* dx) {
  using C = Compute<T>;
  using P = Pack<T>;
  const std::int64_t n = s.rows * s.classes, first = thread_number() * kPack<T>;
  if (first >= n) return;
  const bool full = whole && first + kPack<T> <= n;
  P pack;
  if (full)
    pack = *reinterpret_cast<const P*>(y + first);
  else
#pragma unroll
    for (int k = 0; k < kPack<T>; ++k)
      if (first + k < n) pack.v[k] = y[first + k];
  const C scale = widen(*dloss) / static_cast<C>(s.batch);
  Cut at = cut(first, s.classes);
  std::int64_t label = labels[at.whole];
#pragma unroll
  for (int k = 0; k < kPack<T>; ++k) {
    if (first + k >= n) break;
    const bool known = label >= 0 && label < s.classes;
    const C d = scale * (widen(pack.v[k]) - (at.rest == label ? C{1} : C{0}));
    pack.v[k] = narrow<T>(known ? d : static_cast<C>(NAN));
    if (++at.rest == s.classes && first + k + 1 < n) at = {at.whole + 1, 0}, label = labels[at.whole];
  }
  if (full)
    *reinterpret_cast<P*>(dx + first) = pack;
  else
#pragma unroll
    for (int k = 0; k < kPack<T>; ++k)
      if (first + k < n) dx[first + k] = pack.v[k];
}

}  // namespace

void cross_entropy(DType dtype, const LossShape& s, const void* x, const void* labels, double* parts,
                   void* loss, void* y, void* correct, cudaStream_t stream) {
  const Labels l{labels, s.wide_labels};
  const RowSplit split = row_split(s.classes);
  const auto blocks = static_cast<unsigned>(split.blocks(s.rows));
  dispatch_floats(dtype, [&]<class T>() {
    const auto* from = static_cast<const T*>(x);
    auto *mean = static_cast<T*>(loss), *to = static_cast<T*>(y), *count = static_cast<T*>(correct);
    if (split.lanes != 0) {
      dispatch_per(split.per, [&]<int kPer>() {
        short_rows<T, kPer>
            <<<blocks, RowSplit::kThreads, 0, stream>>>(s, split.lanes, from, l, parts, mean, to, count);
      });
    } else {
      const std::size_t bytes = row_cache(long_rows<T>, static_cast<std::size_t>(s.classes) * sizeof(T));
      long_rows<<<blocks, long_row_threads(s.classes), bytes, stream>>>(s, bytes != 0, from, l, parts, mean,
                                                                        to, count);
    }
    HEADROOM_CUDA_LAUNCHED();
  });
}

void cross_entropy_grad(DType dtype, const LossShape& s, const void* dloss, const void* y, const void* labels,
                        void* dx, cudaStream_t stream) {
  dispatch_floats(dtype, [&]<class T>() {
    const std::int64_t threads = (s.rows * s.classes + kPack<T> - 1) / kPack<T>;
    slopes<<<blocks_for(threads), kThreads, 0, stream>>>(
        s, aligned(y) && aligned(dx), static_cast<const T*>(dloss), static_cast<const T*>(y),
        Labels{labels, s.wide_labels}, static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
