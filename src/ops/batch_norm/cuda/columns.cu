// A matrix whose columns belong to channels: threads side by side take columns side by side. Parts of the
// rows leave a pair of sums for each column, a warp for each channel joins them, and a third kernel goes over
// the elements.
#include "ops/batch_norm/cuda/finish.cuh"

namespace headroom::cuda {
namespace {

constexpr int kColumns = static_cast<int>(BatchNormSplit::kColumns), kHigh = kThreads / kColumns;
constexpr int kDeepRows = 4;    // rows of a thread in flight
constexpr int kApplyRows = 64;  // of a block

__device__ inline Coefficients* coefficients_of(const BatchNorm& p, void* workspace) {
  const std::int64_t sums = std::int64_t{p.split.parts} * p.channels * p.plane;
  return reinterpret_cast<Coefficients*>(static_cast<double2*>(workspace) + sums);
}

// Calls body(place, is it there) for the rows first, first + kHigh, … before `end` of one column, kDeepRows
// at a time.
template <class Load, class Use>
__device__ void each_row(std::int64_t first, std::int64_t end, Load&& load, Use&& use) {
  for (std::int64_t r = first; r < end; r += kDeepRows * kHigh) {
#pragma unroll
    for (int u = 0; u < kDeepRows; ++u)
      if (r + u * kHigh < end) load(u, r + u * kHigh);
#pragma unroll
    for (int u = 0; u < kDeepRows; ++u)
      if (r + u * kHigh < end) use(u, r + u * kHigh);
  }
}

template <class T, BatchNormKind kKind>
__global__ void __launch_bounds__(kThreads) gather_columns(BatchNorm p, BatchNormTensors t) {
  const std::int64_t width = p.channels * p.plane;
  const std::int64_t column = std::int64_t{blockIdx.x} * kColumns + threadIdx.x % kColumns;
  const int part = blockIdx.y, high = threadIdx.x / kColumns;
  Sums sums;
  if (column < width) {
    const double center = center_of<T, kKind>(p, t, cut(column, p.plane).whole);
    T x[kDeepRows] = {}, dy[kDeepRows] = {};
    each_row(
        part * p.rows / p.split.parts + high, (part + 1) * p.rows / p.split.parts,
        [&](int u, std::int64_t r) {
          x[u] = static_cast<const T*>(t.x)[r * width + column];
          if constexpr (kBackward<kKind>) dy[u] = static_cast<const T*>(t.dy)[r * width + column];
        },
        [&](int u, std::int64_t) { gather<kKind>(sums, x[u], dy[u], center); });
  }
  __shared__ Sums shared[kHigh][kColumns];
  shared[high][threadIdx.x % kColumns] = sums;
  __syncthreads();
  if (high != 0 || column >= width) return;
  for (int h = 1; h < kHigh; ++h) {
    sums.first += shared[h][threadIdx.x].first;
    sums.second += shared[h][threadIdx.x].second;
  }
  static_cast<double2*>(t.workspace)[part * width + column] = {sums.first, sums.second};
}

template <class T, BatchNormKind kKind>
__global__ void __launch_bounds__(kThreads) finish_columns(BatchNorm p, BatchNormTensors t) {
  const std::int64_t channel = thread_number() / 32;
  if (channel >= p.channels) return;  // whole warps
  Sums sums;
  const int lane = threadIdx.x % 32;
  for (std::int64_t i = lane; i < p.split.parts * p.plane; i += 32) {
    const Cut at = cut(i, p.plane);
    const double2 s =
        static_cast<const double2*>(t.workspace)[(at.whole * p.channels + channel) * p.plane + at.rest];
    sums.first += s.x, sums.second += s.y;
  }
  sums.first = sum_lanes(sums.first), sums.second = sum_lanes(sums.second);
  if (lane == 0) coefficients_of(p, t.workspace)[channel] = finish<T, kKind>(p, t, channel, sums, true);
}

template <class T, BatchNormKind kKind>
__global__ void __launch_bounds__(kThreads)
    apply_columns(BatchNorm p, BatchNormTensors t, std::int64_t bands) {
  const std::int64_t width = p.channels * p.plane;
  const std::int64_t column = std::int64_t{blockIdx.x} * kColumns + threadIdx.x % kColumns;
  if (column >= width) return;
  const std::int64_t channel = cut(column, p.plane).whole;
  const Apply<T, kKind> apply(kGathers<kKind>
                                  ? coefficients_of(p, t.workspace)[channel]
                                  : finish<T, BatchNormKind::inference>(p, t, channel, {}, false));
  for (std::int64_t band = blockIdx.y; band < bands; band += gridDim.y) {
    const std::int64_t end = (band + 1) * kApplyRows;
    T x[kDeepRows] = {}, dy[kDeepRows] = {};
    each_row(
        band * kApplyRows + threadIdx.x / kColumns, end < p.rows ? end : p.rows,
        [&](int u, std::int64_t r) {
          if constexpr (kKind != BatchNormKind::inference_grad)
            x[u] = static_cast<const T*>(t.x)[r * width + column];
          if constexpr (kBackward<kKind>) dy[u] = static_cast<const T*>(t.dy)[r * width + column];
        },
        [&](int u, std::int64_t r) { static_cast<T*>(t.y)[r * width + column] = apply(x[u], dy[u]); });
  }
}

}  // namespace

void batch_norm_columns(const BatchNorm& p, const BatchNormTensors& t, cudaStream_t stream) {
  const std::int64_t width = p.channels * p.plane, bands = (p.rows + kApplyRows - 1) / kApplyRows;
  const unsigned across = blocks_for(width, kColumns);
  dispatch_batch_norm(p, [&]<class T, BatchNormKind kKind>() {
    if constexpr (kGathers<kKind>) {
      const dim3 grid(across, static_cast<unsigned>(p.split.parts));
      gather_columns<T, kKind><<<grid, kThreads, 0, stream>>>(p, t);
      HEADROOM_CUDA_LAUNCHED();
      finish_columns<T, kKind><<<blocks_for(p.channels * 32), kThreads, 0, stream>>>(p, t);
      HEADROOM_CUDA_LAUNCHED();
    }
    const dim3 grid(across, static_cast<unsigned>(bands < 65535 ? bands : 65535));
    apply_columns<T, kKind><<<grid, kThreads, 0, stream>>>(p, t, bands);
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
