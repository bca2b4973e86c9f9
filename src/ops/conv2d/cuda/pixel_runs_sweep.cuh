#pragma once

// Runs of neighbouring pixels in registers: a thread makes kRun outputs of a row for kMaps maps, so that what
// it reads of a line of the image and of its weights serves kRun * kMaps * kWidth products. Warps share the
// lines; their sums meet in shared memory, from where results are stored side by side.
#include "ops/conv2d/cuda/pixel_runs.cuh"
#include "ops/cuda/finish.cuh"

namespace headroom::cuda {
namespace {

// One row of the image times one row of taps of each map, whose weights lie `next_map` apart.
template <int kWidth, int kRun, int kMaps, RunKind kKind>
__device__ inline void add_line(const float* view, const float* weights, int next_map,
                                float (&sum)[kMaps][kRun]) {
  constexpr bool kWhole = kKind == RunKind::whole_gradient;
  constexpr int kSeen = kWhole ? kRun - kWidth + 1 : kRun + kWidth - 1;
  float x[kSeen], w[kMaps][kWidth];
  read_words<kSeen, kWhole || kRun % 4 == 0 ? 4 : 2>(view, x);
#pragma unroll
  for (int m = 0; m < kMaps; ++m)
#pragma unroll
    for (int j = 0; j < kWidth; ++j)
      w[m][j] = weights[m * next_map + (kKind == RunKind::forward ? j : kWidth - 1 - j)];
#pragma unroll
  for (int j = 0; j < kWidth; ++j)
#pragma unroll
    for (int m = 0; m < kMaps; ++m)
#pragma unroll
      for (int i = 0; i < (kWhole ? kSeen : kRun); ++i) {
        const int to = kWhole ? i + kWidth - 1 - j : i, from = kWhole ? i : i + j;
        sum[m][to] = fmaf(w[m][j], x[from], sum[m][to]);
      }
}

// The results of one image, from what the shares left; a thread has several under way.
template <int kRun, int kMaps>
__device__ inline void store_results(const Sweep& s, const RunsPlan& q, const float* sums, const float* bias,
                                     float* y) {
  constexpr int kAtOnce = 4;
  const int step = kRun * kMaps * q.slots, count = s.maps * s.out_plane(),
            threads = static_cast<int>(blockDim.x);
  const auto finish = static_cast<Activation>(s.activation);
  for (int first = static_cast<int>(threadIdx.x); first < count; first += kAtOnce * threads) {
    float sum[kAtOnce];
    const float* from[kAtOnce];
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u) {
      const int o = min(first + u * threads, count - 1);
      const int map = quotient(o, q.by_plane), rest = o - map * s.out_plane(),
                row = quotient(rest, q.by_width);
      const int column = rest - row * s.out_w, run = column / kRun, group = map / kMaps;
      const int k = (map - first_map_of<kMaps>(s, group)) * kRun + (column - run * kRun);
      from[u] = sums + k * q.slots + (group * s.out_h + row) * q.runs + run;
      sum[u] = bias == nullptr ? 0.0F : bias[map];
    }
#pragma unroll 2
    for (int share = 0; share < q.shares; ++share)
#pragma unroll
      for (int u = 0; u < kAtOnce; ++u) sum[u] += from[u][share * step];
    finish_values(finish, sum);
#pragma unroll
    for (int u = 0; u < kAtOnce; ++u)
      if (first + u * threads < count) y[first + u * threads] = sum[u];
  }
}

template <int kWidth, int kRun, int kMaps, RunKind kKind>
__global__ void __launch_bounds__(kRunThreads, 2)
    pixel_runs(const __grid_constant__ Sweep s, const __grid_constant__ RunsPlan q, const float* x,
               const float* w, const float* bias, float* y) {
  extern __shared__ __align__(16) float numbers[];
  float* const weights = numbers;
  float* const view = weights + (s.maps * s.depth() + 3) / 4 * 4;
  float* const sums = view + s.channels * q.plane;
  const int group = static_cast<int>(blockIdx.y), image_words = s.channels * s.in_plane();
  const auto copy_image = [&](int n) {
    copy_view(s, q, x + (std::int64_t{n} * s.groups + group) * image_words, view);
  };
  copy_image(static_cast<int>(blockIdx.x));
  copy_lines(q.weight_unit, w + group * s.weight_group, 1, s.maps * s.depth() / q.weight_unit, Divide{0, 0},
             [&](int) { return weights; });
  clear_frame(s, q, view);

  const int warp = static_cast<int>(threadIdx.x) / 32, share = warp / q.item_warps;
  const int slot = static_cast<int>(threadIdx.x) - share * q.item_warps * 32;
  const int item = slot < q.items ? slot : q.items - 1;
  const int map_group = quotient(item, q.by_items_of_group), place = item - map_group * q.runs * s.out_h;
  const int row = quotient(place, q.by_runs), first_line = share * q.lines_of_share;
  const int last_line = min(q.lines, first_line + q.lines_of_share);
  const int first_channel = quotient(first_line, q.by_kernel_h),
            first_tap = first_line - first_channel * s.kernel_h;
  const float* const own_view =
      view + first_channel * q.plane + (row + first_tap) * q.pitch + (place - row * q.runs) * kRun;
  const int next_map = static_cast<int>(s.weight_map), first_map = first_map_of<kMaps>(s, map_group);
  const int next_line = kKind == RunKind::forward ? kWidth : -kWidth;
  const int next_channel = static_cast<int>(s.weight_channel) - s.kernel_h * next_line;
  const float* const own_weights =
      weights + first_map * next_map + first_channel * s.weight_channel +
      (kKind == RunKind::forward ? first_tap : s.kernel_h - 1 - first_tap) * kWidth;
  float* const own_sums = sums + share * kRun * kMaps * q.slots + slot;

  for (int n = static_cast<int>(blockIdx.x); n < s.batch; n += static_cast<int>(gridDim.x)) {
    copies_have_come();  // and nobody reads the sums of the image before
    float sum[kMaps][kRun] = {};
    const float* line_view = own_view;
    const float* line_weights = own_weights;
    int tap = first_tap;
#pragma unroll 1
    for (int line = first_line; line < last_line; ++line) {
      add_line<kWidth, kRun, kMaps, kKind>(line_view, line_weights, next_map, sum);
      line_view += q.pitch, line_weights += next_line;
      if (++tap == s.kernel_h)
        tap = 0, line_view += q.plane - s.kernel_h * q.pitch, line_weights += next_channel;
    }
#pragma unroll
    for (int m = 0; m < kMaps; ++m)
#pragma unroll
      for (int i = 0; i < kRun; ++i) own_sums[(m * kRun + i) * q.slots] = sum[m][i];
    __syncthreads();
    if (const int next = n + static_cast<int>(gridDim.x); next < s.batch) copy_image(next);
    store_results<kRun, kMaps>(s, q, sums, bias == nullptr ? nullptr : bias + group * s.maps,
                               y + (std::int64_t{n} * s.groups + group) * s.maps * s.out_plane());
  }
}

template <int kWidth, int kRun, int kMaps, RunKind kKind>
void launch_runs(const Sweep& s, const RunsPlan& q, const float* x, const float* w, const float* bias,
                 float* y, cudaStream_t stream) {
  const auto kernel = pixel_runs<kWidth, kRun, kMaps, kKind>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers), static_cast<unsigned>(s.groups));
  kernel<<<grid, q.threads, q.bytes, stream>>>(s, for_addresses(s, q, x, w, nullptr), x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

using RunsLauncher = void (*)(const Sweep&, const RunsPlan&, const float*, const float*, const float*, float*,
                              cudaStream_t);

template <int kWidth, int kRun, int kMaps>
RunsLauncher runs_of(RunKind kind) {
  if constexpr (run_fits(kRun, kMaps, kWidth, RunKind::whole_gradient))
    if (kind == RunKind::whole_gradient) return launch_runs<kWidth, kRun, kMaps, RunKind::whole_gradient>;
  return kind == RunKind::forward ? launch_runs<kWidth, kRun, kMaps, RunKind::forward>
                                  : launch_runs<kWidth, kRun, kMaps, RunKind::gradient>;
}
template <int kWidth, int kRun>
RunsLauncher runs_of(const RunsPlan& q) {
  if constexpr (run_fits(kRun, 4, kWidth, RunKind::forward))
    if (q.maps == 4) return runs_of<kWidth, kRun, 4>(q.kind);
  return runs_of<kWidth, kRun, 3>(q.kind);
}
template <int kWidth>
RunsLauncher runs_of(const RunsPlan& q) {
  if (q.run == 6) return runs_of<kWidth, 6>(q);
  if (q.run == 8) return runs_of<kWidth, 8>(q);
  return q.run == 10 ? runs_of<kWidth, 10>(q) : runs_of<kWidth, 14>(q);
}

}  // namespace
}  // namespace headroom::cuda
