// Tiles of scores by ordinary multiply-adds, for fp32 and fp64 and for wide heads in 16 bits. 256 threads as
// 16 x 16; each has kMicro x kMicro scores of a tile and, of its rows, every 16th column of the result. Bound
// by shared memory: with kMicro = 4, eight loads for sixteen multiply-adds.
#include "ops/attention/cuda/head.cuh"
#include "ops/attention/cuda/sizes.h"
#include "ops/cuda/block.cuh"
#include "ops/cuda/shared_limit.h"

namespace headroom::cuda {
namespace {

constexpr int kTileThreads = 256;

template <class C, int kDepth, int kMicro>
struct Tiles {
  static constexpr int kRows = 16 * kMicro, kPitch = kDepth + 1, kScorePitch = kRows + 1,
                       kColumns = kDepth / 16;
  static constexpr int kRun = 16;
  static_assert(kDepth % kRun == 0);
  static constexpr int kTile = kRows * kPitch, kScores = kRows * kScorePitch;
  using Scores = C[kMicro][kMicro];
  using Result = C[kMicro][kColumns];

  // Rows first .. first + kRows, with zeros beyond the last and beyond the width.
  template <class T>
  __device__ static void load(const AttentionShape& s, HeadRows<const T> rows, std::int64_t first, C* to) {
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kDepth; i += kTileThreads) {
      const int r = i / kDepth, d = i % kDepth;
      const bool there = first + r < s.time && d < s.width;
      to[r * kPitch + d] = there ? widen(rows.row(first + r)[d]) : C{0};
    }
  }

  // Row ty * kMicro + i of a against row tx + 16 j of b, in runs of columns: one long sum rounds too much for
  // the gradient, which takes such sums from each other. Behind the width there are zeros.
  __device__ static void multiply(int width, const C* a, const C* b, Scores& c) {
    const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
    each_score([&](int i, int j) { c[i][j] = 0; });
#pragma unroll 1
    for (int first = 0; first < width; first += kRun) {
      Scores part;
      each_score([&](int i, int j) { part[i][j] = 0; });
#pragma unroll 4
      for (int d = first; d < first + kRun; ++d) {
        C x[kMicro], z[kMicro];
#pragma unroll
        for (int i = 0; i < kMicro; ++i) x[i] = a[(ty * kMicro + i) * kPitch + d];
#pragma unroll
        for (int j = 0; j < kMicro; ++j) z[j] = b[(tx + 16 * j) * kPitch + d];
        each_score([&](int i, int j) { part[i][j] += x[i] * z[j]; });
      }
      each_score([&](int i, int j) { c[i][j] += part[i][j]; });
    }
  }

  template <class Body>
  __device__ static void each_score(Body&& body) {
#pragma unroll
    for (int i = 0; i < kMicro; ++i)
#pragma unroll
      for (int j = 0; j < kMicro; ++j) body(i, j);
  }

  __device__ static void put(const Scores& c, C* to) {
    const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
    for (int i = 0; i < kMicro; ++i)
#pragma unroll
      for (int j = 0; j < kMicro; ++j) to[(ty * kMicro + i) * kScorePitch + tx + 16 * j] = c[i][j];
  }

  // result += scores x rows.
  __device__ static void add(const C* scores, const C* rows, Result& result) {
    const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
#pragma unroll 2
    for (int u = 0; u < kRows; ++u) {
      C p[kMicro];
#pragma unroll
      for (int i = 0; i < kMicro; ++i) p[i] = scores[(ty * kMicro + i) * kScorePitch + u];
#pragma unroll
      for (int c = 0; c < kColumns; ++c) {
        const C v = rows[u * kPitch + tx + 16 * c];
#pragma unroll
        for (int i = 0; i < kMicro; ++i) result[i][c] += p[i] * v;
      }
    }
  }

  template <class T>
  __device__ static void store(const AttentionShape& s, HeadRows<T> rows, std::int64_t first,
                               const Result& result, const C (&factor)[kMicro]) {
    const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
#pragma unroll
    for (int i = 0; i < kMicro; ++i) {
      const std::int64_t t = first + ty * kMicro + i;
      if (t >= s.time) continue;
#pragma unroll
      for (int c = 0; c < kColumns; ++c)
        if (tx + 16 * c < s.width) rows.row(t)[tx + 16 * c] = narrow<T>(result[i][c] * factor[i]);
    }
  }
};

// Shared memory: the queries, keys and then values in one place, scores.
template <class T, int kDepth, int kMicro>
__global__ __launch_bounds__(kTileThreads) void forward(AttentionShape s, const T* qkv, T* y,
                                                        Compute<T>* lse) {
  using C = Compute<T>;
  using Tile = Tiles<C, kDepth, kMicro>;
  extern __shared__ __align__(16) unsigned char memory[];
  C *q = reinterpret_cast<C*>(memory), *kv = q + Tile::kTile, *scores = kv + Tile::kTile;
  const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
  const Place at = place_of(s, Tile::kRows, s.causal);
  const HeadRows<const T> keys = part_of(s, qkv, at.head, 1), values = part_of(s, qkv, at.head, 2);
  Tile::load(s, part_of(s, qkv, at.head, 0), at.first, q);
  typename Tile::Result result = {};
  C most[kMicro], sum[kMicro];
  for (int i = 0; i < kMicro; ++i) most[i] = C(-INFINITY), sum[i] = 0;
  const Span span = other_rows(s, false, at.first, at.first + Tile::kRows - 1);
  for (std::int64_t u = 0; u < span.end; u += Tile::kRows) {
    Tile::load(s, keys, u, kv);
    __syncthreads();
    typename Tile::Scores c;
    Tile::multiply(static_cast<int>(s.width), q, kv, c);
#pragma unroll
    for (int i = 0; i < kMicro; ++i) {
      // Rows beyond the last see key 0 too: nothing here becomes NaN, and nothing of theirs is stored.
      const std::int64_t row = at.first + ty * kMicro + i, t = row < s.time ? row : s.time - 1;
      C top = C(-INFINITY);
#pragma unroll
      for (int j = 0; j < kMicro; ++j) {
        c[i][j] = sees(s, t, u + tx + 16 * j) ? c[i][j] * static_cast<C>(s.scale) : C(-INFINITY);
        top = c[i][j] > top ? c[i][j] : top;
      }
      top = warp_max(top, 16);
      const C now = top > most[i] ? top : most[i], keep = exp(most[i] - now);
      C part = 0;
#pragma unroll
      for (int j = 0; j < kMicro; ++j) part += c[i][j] = exp(c[i][j] - now);
      sum[i] = sum[i] * keep + warp_sum(part, 16);
      most[i] = now;
#pragma unroll
      for (int k = 0; k < Tile::kColumns; ++k) result[i][k] *= keep;
    }
    __syncthreads();  // the keys have been read
    Tile::put(c, scores);
    Tile::load(s, values, u, kv);
    __syncthreads();
    Tile::add(scores, kv, result);
    __syncthreads();
  }
  C share[kMicro];
#pragma unroll
  for (int i = 0; i < kMicro; ++i) {
    share[i] = C{1} / sum[i];
    const std::int64_t t = at.first + ty * kMicro + i;
    if (tx == 0 && t < s.time) lse[at.head * s.time + t] = most[i] + log(sum[i]);
  }
  Tile::store(s, result_of(s, y, at.head), at.first, result, share);
}

// Shared memory: two tiles of our own rows, two of the others, ds and p.
template <class T, int kDepth, int kMicro, bool kOwnsKeys>
__global__ __launch_bounds__(kTileThreads) void backward(AttentionShape s, const T* qkv, const T* dy,
                                                         const Compute<T>* lse, const Compute<T>* along,
                                                         T* dqkv) {
  using C = Compute<T>;
  using Tile = Tiles<C, kDepth, kMicro>;
  extern __shared__ __align__(16) unsigned char memory[];
  C *own = reinterpret_cast<C*>(memory), *own_grad = own + Tile::kTile, *other = own_grad + Tile::kTile,
    *other_grad = other + Tile::kTile, *ds = other_grad + Tile::kTile, *p = ds + Tile::kScores;
  const int tx = static_cast<int>(threadIdx.x) % 16, ty = static_cast<int>(threadIdx.x) / 16;
  const Place at = place_of(s, Tile::kRows, s.causal && !kOwnsKeys);
  const GradientRows<T, kOwnsKeys> rows = gradient_rows<T, kOwnsKeys>(s, qkv, dy, dqkv, at.head);
  lse += at.head * s.time, along += at.head * s.time;
  Tile::load(s, rows.own, at.first, own);
  Tile::load(s, rows.own_grad, at.first, own_grad);
  typename Tile::Result result = {}, result_value = {};
  const Span span = other_rows(s, kOwnsKeys, at.first, at.first + Tile::kRows - 1);
  for (std::int64_t first = span.begin; first < span.end; first += Tile::kRows) {
    Tile::load(s, rows.other, first, other);
    Tile::load(s, rows.other_grad, first, other_grad);
    __syncthreads();
    typename Tile::Scores c, g;
    Tile::multiply(static_cast<int>(s.width), own, other, c);
    Tile::multiply(static_cast<int>(s.width), own_grad, other_grad, g);
#pragma unroll
    for (int i = 0; i < kMicro; ++i)
#pragma unroll
      for (int j = 0; j < kMicro; ++j) {
        const std::int64_t mine = at.first + ty * kMicro + i, theirs = first + tx + 16 * j;
        const std::int64_t t = kOwnsKeys ? theirs : mine, u = kOwnsKeys ? mine : theirs;
        const bool seen = sees(s, t, u);
        c[i][j] = seen ? exp(c[i][j] * static_cast<C>(s.scale) - lse[t]) : C{0};
        g[i][j] = seen ? c[i][j] * (g[i][j] - along[t]) : C{0};
      }
    Tile::put(g, ds);
    if (kOwnsKeys) Tile::put(c, p);
    __syncthreads();
    Tile::add(ds, other, result);
    if (kOwnsKeys) Tile::add(p, other_grad, result_value);
    __syncthreads();
  }
  C factor[kMicro], one[kMicro];
#pragma unroll
  for (int i = 0; i < kMicro; ++i) factor[i] = static_cast<C>(s.scale), one[i] = 1;
  Tile::store(s, rows.out, at.first, result, factor);
  if (kOwnsKeys) Tile::store(s, rows.out_value, at.first, result_value, one);
}

template <class Kernel>
void allow_shared(Kernel* kernel, int bytes) {
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
}

// Micro-tiles as large as 99 KB of shared memory allow.
template <class T, int kDepth>
void run(const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  using C = Compute<T>;
  constexpr bool kWide = sizeof(C) == 8;
  constexpr int kForward = kDepth == 256 ? (kWide ? 1 : 2) : kWide ? 2 : 4;
  constexpr int kBackward = kDepth == 64 ? (kWide ? 2 : 4) : kDepth == 128 && !kWide ? 2 : 1;
  using Forward = Tiles<C, kDepth, kForward>;
  using Backward = Tiles<C, kDepth, kBackward>;
  const T *qkv = static_cast<const T*>(a.qkv), *dy = static_cast<const T*>(a.dy);
  T *y = static_cast<T*>(a.y), *dqkv = static_cast<T*>(a.dqkv);
  C *lse = static_cast<C*>(a.lse), *along = static_cast<C*>(a.along);
  if (dy == nullptr) {
    constexpr int kBytes = (2 * Forward::kTile + Forward::kScores) * int(sizeof(C));
    static_assert(kBytes <= shared_limit(86));
    allow_shared(forward<T, kDepth, kForward>, kBytes);
    forward<T, kDepth, kForward>
        <<<head_blocks(s, Forward::kRows), kTileThreads, kBytes, stream>>>(s, qkv, y, lse);
  } else {
    constexpr int kBytes = (4 * Backward::kTile + 2 * Backward::kScores) * int(sizeof(C));
    static_assert(kBytes <= shared_limit(86));
    const unsigned blocks = head_blocks(s, Backward::kRows);
    allow_shared(backward<T, kDepth, kBackward, false>, kBytes);
    backward<T, kDepth, kBackward, false>
        <<<blocks, kTileThreads, kBytes, stream>>>(s, qkv, dy, lse, along, dqkv);
    HEADROOM_CUDA_LAUNCHED();
    allow_shared(backward<T, kDepth, kBackward, true>, kBytes);
    backward<T, kDepth, kBackward, true>
        <<<blocks, kTileThreads, kBytes, stream>>>(s, qkv, dy, lse, along, dqkv);
  }
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

// Heads of up to 128 in 16 bits are cuda:mma's.
void attention_tiles(DType dtype, const AttentionShape& s, const AttentionData& a, cudaStream_t stream) {
  if (dtype == DType::f64)
    return s.width <= 64 ? run<double, 64>(s, a, stream) : run<double, 128>(s, a, stream);
  if (dtype == DType::f16) return run<Half, 256>(s, a, stream);
  if (dtype == DType::bf16) return run<Brain, 256>(s, a, stream);
  if (s.width <= 64) return run<float, 64>(s, a, stream);
  if (s.width <= 128) return run<float, 128>(s, a, stream);
  run<float, 256>(s, a, stream);
}

}  // namespace headroom::cuda
