#include <algorithm>

#include "bench/cuda/vadd_kernels.h"
#include "device/cuda/check.h"

namespace headroom::cuda {
namespace {

__global__ void add_elements(std::int64_t n, const float* x, float* y) {
  for (std::int64_t i = threadIdx.x; i < n; i += blockDim.x) y[i] = x[i] + y[i];
}

// Memory answers after some 600 ns, so its full speed needs many requests at once: each thread asks for 2 x 4
// vectors, 128 bytes, before it uses the first. Loads and stores are marked as used once, so that they do not
// push other data out of the cache.
constexpr int kVectorsInFlight = 4;

__device__ float4 sum_of(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

__global__ void __launch_bounds__(kVaddThreads)
    add_grid(std::int64_t n, const float* __restrict__ x, float* __restrict__ y) {
  const std::int64_t vectors = n / 4, all = std::int64_t{gridDim.x} * kVaddThreads;
  const std::int64_t first = std::int64_t{blockIdx.x} * kVaddThreads + threadIdx.x;
  const auto* xs = reinterpret_cast<const float4*>(x);
  auto* ys = reinterpret_cast<float4*>(y);
  std::int64_t i = first;
  for (; i + (kVectorsInFlight - 1) * all < vectors; i += kVectorsInFlight * all) {
    float4 a[kVectorsInFlight], b[kVectorsInFlight];
#pragma unroll
    for (int j = 0; j < kVectorsInFlight; ++j) {
      a[j] = __ldcs(xs + i + j * all);
      b[j] = __ldcs(ys + i + j * all);
    }
#pragma unroll
    for (int j = 0; j < kVectorsInFlight; ++j) __stcs(ys + i + j * all, sum_of(a[j], b[j]));
  }
  for (; i < vectors; i += all) __stcs(ys + i, sum_of(__ldcs(xs + i), __ldcs(ys + i)));
  const std::int64_t rest = 4 * vectors + first;  // up to three elements after the last whole vector
  if (rest < n) y[rest] = x[rest] + y[rest];
}

}  // namespace

void launch_vadd_block(int threads, std::int64_t n, const float* x, float* y, cudaStream_t stream) {
  add_elements<<<1, threads, 0, stream>>>(n, x, y);
  HEADROOM_CUDA_LAUNCHED();
}

int launch_vadd_grid(int multiprocessors, std::int64_t n, const float* x, float* y, cudaStream_t stream) {
  // One wave: all blocks run at once, and each walks over its share. Asked once, since asking takes longer
  // than a short addition.
  static const int per_multiprocessor = [] {
    int blocks = 0;
    HEADROOM_CUDA_CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, add_grid, kVaddThreads, 0));
    return std::max(blocks, 1);
  }();
  const std::int64_t wanted = (n / 4 + kVaddThreads - 1) / kVaddThreads;
  const auto blocks = static_cast<int>(
      std::clamp<std::int64_t>(wanted, 1, std::int64_t{per_multiprocessor} * multiprocessors));
  add_grid<<<blocks, kVaddThreads, 0, stream>>>(n, x, y);
  HEADROOM_CUDA_LAUNCHED();
  return blocks;
}

}  // namespace headroom::cuda
