// Planes: blocks share out each channel. The first kernel leaves a pair of sums for each block; in the second
// every block joins those of its channel by itself and goes on to the elements, which spares a launch between
// the two. Memory is the limit of both.
#include "ops/batch_norm/cuda/finish.cuh"

namespace headroom::cuda {
namespace {

constexpr int kWarps = kThreads / 32;
constexpr int kDeepVectors = 4;  // vectors of a lane in a run

// A channel's elements are runs of kDeepVectors * 32 vectors of kV elements, none across the end of a plane.
// The warps of a block take turns with the runs of its part.
template <int kV, class Body>
__device__ void each_run(const BatchNorm& p, std::int64_t channel, int part, Body&& body) {
  const std::int64_t vectors = p.plane / kV,
                     per_plane = (vectors + 32 * kDeepVectors - 1) / (32 * kDeepVectors);
  const std::int64_t runs = p.rows * per_plane, parts = p.split.parts;
  const std::int64_t last = (part + 1) * runs / parts;
  for (std::int64_t r = part * runs / parts + threadIdx.x / 32; r < last; r += kWarps) {
    const Cut at = cut(r, per_plane);
    body((at.whole * p.channels + channel) * vectors, at.rest * 32 * kDeepVectors + threadIdx.x % 32,
         vectors);
  }
}

template <class T, int kV, BatchNormKind kKind>
__global__ void __launch_bounds__(kThreads) gather_planes(BatchNorm p, BatchNormTensors t) {
  using P = Pack<T, kV>;
  const std::int64_t channel = blockIdx.x / p.split.parts;
  const double center = center_of<T, kKind>(p, t, channel);
  Sums sums;
  each_run<kV>(p, channel, blockIdx.x % p.split.parts,
               [&](std::int64_t base, std::int64_t first, std::int64_t end) {
                 P x[kDeepVectors], dy[kDeepVectors];
#pragma unroll
                 for (int u = 0; u < kDeepVectors; ++u)
                   if (first + 32 * u < end) {
                     x[u] = static_cast<const P*>(t.x)[base + first + 32 * u];
                     if constexpr (kBackward<kKind>)
                       dy[u] = static_cast<const P*>(t.dy)[base + first + 32 * u];
                   }
#pragma unroll
                 for (int u = 0; u < kDeepVectors; ++u)
                   if (first + 32 * u < end)
#pragma unroll
                     for (int v = 0; v < kV; ++v) gather<kKind>(sums, x[u].v[v], dy[u].v[v], center);
               });
  __shared__ double shared[2][32];
  const double first = fold_block(sums.first, 0.0, shared[0], Plus{});
  const double second = fold_block(sums.second, 0.0, shared[1], Plus{});
  if (threadIdx.x == 0) static_cast<double2*>(t.workspace)[blockIdx.x] = {first, second};
}

template <class T, int kV, BatchNormKind kKind>
__global__ void __launch_bounds__(kThreads) apply_planes(BatchNorm p, BatchNormTensors t) {
  using P = Pack<T, kV>;
  // Backwards: what was read last is still in the cache.
  const unsigned block = gridDim.x - 1 - blockIdx.x;
  const std::int64_t channel = block / p.split.parts;
  const int part = block % p.split.parts;
  __shared__ Coefficients shared;
  if (threadIdx.x < 32) {
    Sums sums;
    if constexpr (kGathers<kKind>) {
      for (int i = threadIdx.x; i < p.split.parts; i += 32) {
        const double2 s = static_cast<const double2*>(t.workspace)[channel * p.split.parts + i];
        sums.first += s.x, sums.second += s.y;
      }
      sums.first = sum_lanes(sums.first), sums.second = sum_lanes(sums.second);
    }
    if (threadIdx.x == 0) shared = finish<T, kKind>(p, t, channel, sums, part == 0);
  }
  __syncthreads();
  const Apply<T, kKind> apply(shared);
  each_run<kV>(p, channel, part, [&](std::int64_t base, std::int64_t first, std::int64_t end) {
    constexpr bool kReadsX = kKind != BatchNormKind::inference_grad;
    P x[kDeepVectors] = {}, dy[kDeepVectors] = {};
#pragma unroll
    for (int u = 0; u < kDeepVectors; ++u)
      if (first + 32 * u < end) {
        if constexpr (kReadsX) x[u] = static_cast<const P*>(t.x)[base + first + 32 * u];
        if constexpr (kBackward<kKind>) dy[u] = static_cast<const P*>(t.dy)[base + first + 32 * u];
      }
#pragma unroll
    for (int u = 0; u < kDeepVectors; ++u)
      if (first + 32 * u < end) {
        P y;
#pragma unroll
        for (int v = 0; v < kV; ++v) y.v[v] = apply(x[u].v[v], dy[u].v[v]);
        static_cast<P*>(t.y)[base + first + 32 * u] = y;
      }
  });
}

template <class T, int kV, BatchNormKind kKind>
void launch(const BatchNorm& p, const BatchNormTensors& t, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(p.channels * p.split.parts);
  if constexpr (kGathers<kKind>) {
    gather_planes<T, kV, kKind><<<blocks, kThreads, 0, stream>>>(p, t);
    HEADROOM_CUDA_LAUNCHED();
  }
  apply_planes<T, kV, kKind><<<blocks, kThreads, 0, stream>>>(p, t);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void batch_norm(const BatchNorm& p, const BatchNormTensors& t, cudaStream_t stream) {
  if (p.split.columns) return batch_norm_columns(p, t, stream);
  dispatch_batch_norm(p, [&]<class T, BatchNormKind kKind>() {
    if (p.plane % kPack<T> == 0 && aligned(t.x) && aligned(t.dy) && aligned(t.y))
      launch<T, kPack<T>, kKind>(p, t, stream);
    else
      launch<T, 1, kKind>(p, t, stream);
  });
}

}  // namespace headroom::cuda
