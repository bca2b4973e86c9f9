#include "ops/cuda/fold.cuh"
#include "ops/cuda/index.cuh"
#include "ops/gather/cuda/row_at.cuh"

namespace headroom::cuda {
namespace {

constexpr int kRows = 128, kColumns = 32, kWarps = kThreads / 32;
constexpr int kSight = 4;                  // indices of a thread at once
constexpr int kBatch = kSight * kThreads;  // of the block
constexpr int kListed = 2 * kBatch;        // places remembered before they are added up
constexpr int kDeep = 4;                   // slices of dy in flight

// A block owns kRows rows of dx by kColumns columns. It looks through all indices, remembers in order which
// of them name its rows, and adds those slices of dy: each row by one warp, in the order of the indices. No
// atomics, nothing read that is not added; the list itself is read once for each block, from the second
// cache.
template <class T>
__global__ void __launch_bounds__(kThreads)
    add_slices(GatherShape s, std::int64_t row_blocks, std::int64_t column_blocks, const T* dy,
               const void* indices, T* dx) {
  using C = Compute<T>;
  __shared__ C sums[kRows][kColumns];
  __shared__ unsigned places[kListed];
  __shared__ unsigned char rows[kListed];
  __shared__ int counts[kSight * kWarps];
  static_assert(kSight * kWarps == 32 && kRows <= 256);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const Cut block = cut(blockIdx.x, column_blocks), outer = cut(block.whole, row_blocks);
  const std::int64_t first_row = outer.rest * kRows, column = block.rest * kColumns + lane;
  const bool there = column < s.inner;
  const T* from = dy + outer.whole * s.count * s.inner + column;
  for (int r = warp; r < kRows; r += kWarps) sums[r][lane] = 0;

  const auto add_listed = [&](int listed) {
    for (int base = 0; base < listed; base += 32) {
      const int mine = base + lane < listed ? rows[base + lane] : -1;
      unsigned left = __ballot_sync(kAllLanes, mine >= 0 && mine % kWarps == warp);
      while (left != 0) {
        C value[kDeep];
        int row[kDeep];
#pragma unroll
        for (int u = 0; u < kDeep; ++u) {
          row[u] = -1;
          if (left == 0) continue;
          const int at = base + __ffs(static_cast<int>(left)) - 1;
          left &= left - 1;
          row[u] = rows[at];
          value[u] = there ? widen(from[places[at] * s.inner]) : C{0};
        }
#pragma unroll
        for (int u = 0; u < kDeep; ++u)
          if (row[u] >= 0) sums[row[u]][lane] += value[u];
      }
    }
  };

  int listed = 0;
  for (std::int64_t begin = 0; begin < s.count; begin += kBatch) {
    int row[kSight];
    unsigned found[kSight];
#pragma unroll
    for (int u = 0; u < kSight; ++u) {
      const std::int64_t i = begin + u * kThreads + threadIdx.x;
      const std::int64_t away = i < s.count ? row_at(s, indices, i) - first_row : -1;
      row[u] = away >= 0 && away < kRows ? static_cast<int>(away) : -1;
      found[u] = __ballot_sync(kAllLanes, row[u] >= 0);
      if (lane == 0) counts[u * kWarps + warp] = __popc(found[u]);
    }
    __syncthreads();
    // Where the finds of each warp begin: those of all before it.
    int before = counts[lane];
    const int own = before;
#pragma unroll
    for (int distance = 1; distance < 32; distance *= 2) {
      const int other = __shfl_up_sync(kAllLanes, before, distance);
      if (lane >= distance) before += other;
    }
    const int all = __shfl_sync(kAllLanes, before, 31);
    before -= own;
#pragma unroll
    for (int u = 0; u < kSight; ++u) {
      const int start = listed + __shfl_sync(kAllLanes, before, u * kWarps + warp);
      if (row[u] < 0) continue;
      const int at = start + __popc(found[u] & ((1u << lane) - 1));
      places[at] = static_cast<unsigned>(begin + u * kThreads + threadIdx.x);
      rows[at] = static_cast<unsigned char>(row[u]);
    }
    listed += all;
    __syncthreads();  // the list is whole, and the counts may be written again
    if (listed > kListed - kBatch) {
      add_listed(listed);
      listed = 0;
      __syncthreads();
    }
  }
  add_listed(listed);
  if (!there) return;
  for (int r = warp; r < kRows && first_row + r < s.extent; r += kWarps)
    dx[(outer.whole * s.extent + first_row + r) * s.inner + column] = narrow<T>(sums[r][lane]);
}

}  // namespace

void gather_grad(DType dtype, const GatherShape& s, const void* dy, const void* indices, void* dx,
                 cudaStream_t stream) {
  const std::int64_t row_blocks = (s.extent + kRows - 1) / kRows,
                     column_blocks = (s.inner + kColumns - 1) / kColumns;
  dispatch_floats(dtype, [&]<class T>() {
    add_slices<<<blocks_for(s.outer * row_blocks * column_blocks, 1), kThreads, 0, stream>>>(
        s, row_blocks, column_blocks, static_cast<const T*>(dy), indices, static_cast<T*>(dx));
    HEADROOM_CUDA_LAUNCHED();
  });
}

}  // namespace headroom::cuda
