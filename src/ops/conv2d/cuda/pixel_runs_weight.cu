// The gradient of the weights in ordinary fp32 arithmetic: a thread keeps one row of taps of kMaps maps in
// registers and slides along the rows of its share. Sums stay in registers over all images of a block; shares
// are added up at the end, blocks by a second launch.
#include "ops/conv2d/cuda/pixel_runs.cuh"
#include "ops/conv2d/cuda/sum_pieces.h"

namespace headroom::cuda {
namespace {

// sum[m][j] += dy[m][c] x[c + j] over one row.
template <int kWidth, int kMaps>
__device__ inline void slide_along(int quads, const float* x, const float* dy, int dy_plane,
                                   float (&sum)[kMaps][kWidth]) {
  constexpr int kKept = kWidth > 5 ? 8 : 4;
  float window[kKept + 4];
#pragma unroll
  for (int k = 0; k < kKept; k += 4) {
    const float4 four = *reinterpret_cast<const float4*>(x + k);
    window[k] = four.x, window[k + 1] = four.y, window[k + 2] = four.z, window[k + 3] = four.w;
  }
#pragma unroll 2
  for (int quad = 0; quad < quads; ++quad, x += 4, dy += 4) {
    const float4 four = *reinterpret_cast<const float4*>(x + kKept);
    window[kKept] = four.x, window[kKept + 1] = four.y, window[kKept + 2] = four.z,
    window[kKept + 3] = four.w;
#pragma unroll
    for (int m = 0; m < kMaps; ++m) {
      float slope[4];
      read_words<4, 4>(dy + m * dy_plane, slope);
#pragma unroll
      for (int u = 0; u < 4; ++u)
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sum[m][j] = fmaf(slope[u], window[u + j], sum[m][j]);
    }
#pragma unroll
    for (int k = 0; k < kKept; ++k) window[k] = window[k + 4];
  }
}

template <int kWidth, int kMaps>
__global__ void __launch_bounds__(kRunWeightThreads, 2)
    pixel_runs_weight(const __grid_constant__ Sweep s, const __grid_constant__ RunsPlan q, const float* x,
                      const float* dy, float* partial) {
  extern __shared__ __align__(16) float numbers[];
  float* const view = numbers;
  float* const slopes = view + s.channels * q.plane;
  const int group = static_cast<int>(blockIdx.y), thread = static_cast<int>(threadIdx.x);
  const int image_words = s.channels * s.in_plane(), result_words = s.maps * s.out_plane();
  const auto copy_image = [&](int n) {
    const std::int64_t image = std::int64_t{n} * s.groups + group;
    copy_view(s, q, x + image * image_words, view);
    copy_lines(q.dy_unit, dy + image * result_words, s.maps * s.out_h, s.out_w / q.dy_unit, q.by_dy_units,
               [&](int line) {
                 const int map = quotient(line, q.by_out_h);
                 return slopes + map * q.dy_plane + (line - map * s.out_h) * q.dy_pitch;
               });
  };
  copy_image(static_cast<int>(blockIdx.x));
  clear_frame(s, q, view);
  for (int line = thread; line < s.maps * s.out_h; line += static_cast<int>(blockDim.x)) {
    float* const to =
        slopes + quotient(line, q.by_out_h) * (q.dy_plane - s.out_h * q.dy_pitch) + line * q.dy_pitch;
    for (int column = s.out_w; column < q.dy_pitch; ++column) to[column] = 0;
  }

  const int share = thread / q.items, item = thread - share * q.items;
  const int own_group = quotient(item, q.by_items_of_group), line = item - own_group * q.lines;
  const int channel = quotient(line, q.by_kernel_h), tap_row = line - channel * s.kernel_h;
  const int first = share < q.shares ? share * q.rows_of_share : s.out_h;  // threads too many have no rows
  const int last = min(s.out_h, first + q.rows_of_share);
  const float* const own_view = view + channel * q.plane + (first + tap_row) * q.pitch;
  const float* const own_slopes =
      slopes + first_map_of<kMaps>(s, own_group) * q.dy_plane + first * q.dy_pitch;

  float total[kMaps][kWidth] = {};
  for (int n = static_cast<int>(blockIdx.x); n < s.batch; n += static_cast<int>(gridDim.x)) {
    copies_have_come();
    float sum[kMaps][kWidth] = {};
    const float* row_view = own_view;
    const float* row_slopes = own_slopes;
#pragma unroll 1
    for (int row = first; row < last; ++row, row_view += q.pitch, row_slopes += q.dy_pitch)
      slide_along<kWidth, kMaps>(q.quads, row_view, row_slopes, q.dy_plane, sum);
#pragma unroll
    for (int m = 0; m < kMaps; ++m)
#pragma unroll
      for (int j = 0; j < kWidth; ++j) total[m][j] += sum[m][j];
    __syncthreads();  // nobody reads the image any more
    if (const int next = n + static_cast<int>(gridDim.x); next < s.batch) copy_image(next);
  }

  // [share][map][tap][item], in the place of the image.
  constexpr int kSums = kMaps * kWidth;
  if (share < q.shares)
#pragma unroll
    for (int k = 0; k < kSums; ++k)
      numbers[(share * kSums + k) * q.slots + item] = total[k / kWidth][k % kWidth];
  __syncthreads();
  float* const out = partial + (std::int64_t{blockIdx.x} * s.groups + group) * s.maps * s.depth();
  for (int o = thread; o < s.maps * s.depth(); o += static_cast<int>(blockDim.x)) {
    const int map = quotient(o, q.by_depth), rest = o - map * s.depth(), line = rest / kWidth;
    const int map_group = map / kMaps,
              k = (map - first_map_of<kMaps>(s, map_group)) * kWidth + rest - line * kWidth;
    const float* const from = numbers + k * q.slots + map_group * q.lines + line;
    float sum = from[0];
#pragma unroll 4
    for (int other = 1; other < q.shares; ++other) sum += from[other * kSums * q.slots];
    out[o] = sum;
  }
}

template <int kWidth, int kMaps>
void launch_weight(const Sweep& s, const RunsPlan& q, const float* x, const float* dy, float* partial,
                   cudaStream_t stream) {
  const auto kernel = pixel_runs_weight<kWidth, kMaps>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers), static_cast<unsigned>(s.groups));
  kernel<<<grid, q.threads, q.bytes, stream>>>(s, for_addresses(s, q, x, nullptr, dy), x, dy, partial);
  HEADROOM_CUDA_LAUNCHED();
}
template <int kWidth>
auto launcher(const RunsPlan& q) {
  return q.maps == 3 ? launch_weight<kWidth, 3> : launch_weight<kWidth, 4>;
}

}  // namespace

void conv2d_pixel_runs_weight(const Sweep& s, const RunsPlan& q, const float* x, const float* dy, float* dw,
                              float* partial, cudaStream_t stream) {
  const auto launch_it = s.kernel_w == 3 ? launcher<3>(q) : s.kernel_w == 5 ? launcher<5>(q) : launcher<7>(q);
  launch_it(s, q, x, dy, partial, stream);
  sum_pieces(DType::f32, std::int64_t{s.groups} * s.maps * s.depth(), q.workers, partial, dw, stream);
}

}  // namespace headroom::cuda
