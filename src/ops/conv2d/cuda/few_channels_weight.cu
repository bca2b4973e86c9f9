// The gradient of the weights over few channels, in ordinary fp32 arithmetic: a thread keeps one row of taps
// of 3 maps in registers and slides along the lines of its share of the pixels; the threads of a warp read
// the same few places, so shared memory is spared and the arithmetic is the bound. Sums stay in registers
// over all tiles of a block; shares are added up at the end, blocks by a second launch.
#include "ops/conv2d/cuda/few_channels.cuh"
#include "ops/conv2d/cuda/sum_pieces.h"

namespace headroom::cuda {
namespace {

__device__ inline void read_quad(const float* from, float* to) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x, to[1] = four.y, to[2] = four.z, to[3] = four.w;
}

// sum[m][j] += dy[m][c] x[c + j] over one line.
template <int kWidth>
__device__ inline void slide_along(int quads, const float* x, const float* dy, int dy_plane,
                                   float (&sum)[kFewWeightMaps][kWidth]) {
  constexpr int kKept = few_kept(kWidth);
  float window[kKept + 4];
#pragma unroll
  for (int k = 0; k < kKept; k += 4) read_quad(x + k, window + k);
#pragma unroll 3
  for (int quad = 0; quad < quads; ++quad, x += 4, dy += 4) {
    read_quad(x + kKept, window + kKept);
    float slope[kFewWeightMaps][4];
#pragma unroll
    for (int m = 0; m < kFewWeightMaps; ++m) read_quad(dy + m * dy_plane, slope[m]);
#pragma unroll
    for (int u = 0; u < 4; ++u)
#pragma unroll
      for (int m = 0; m < kFewWeightMaps; ++m)
#pragma unroll
        for (int j = 0; j < kWidth; ++j) sum[m][j] = fmaf(slope[m][u], window[u + j], sum[m][j]);
#pragma unroll
    for (int k = 0; k < kKept; ++k) window[k] = window[k + 4];
  }
}

template <int kWidth>
__global__ void __launch_bounds__(kFewWeightThreads, 2)
    gather(DType dtype, const __grid_constant__ Sweep s, const __grid_constant__ FewChannelsPlan q,
           const void* x, const void* dy, float* partial) {
  extern __shared__ __align__(16) unsigned char memory[];
  float* gradient = reinterpret_cast<float*>(memory);
  float* view = gradient + q.chunks * kFewWeightMaps * q.dy_plane;
  const int group = static_cast<int>(blockIdx.y), thread = static_cast<int>(threadIdx.x);
  const int share = thread / q.items, item = thread - share * q.items;  // threads too many have no rows
  const int chunk = quotient(item, q.by_chunk), line = item - chunk * static_cast<int>(q.by_chunk.by);
  const int channel = line / s.kernel_h, tap_row = line - channel * s.kernel_h;
  const float* own_view = view + channel * q.plane + tap_row * q.pitch;
  const float* own_gradient = gradient + chunk * kFewWeightMaps * q.dy_plane;
  const int first_line = share < q.shares ? share : q.rows;

  float total[kFewWeightMaps][kWidth] = {};
  for (int index = static_cast<int>(blockIdx.x); index < q.tiles; index += static_cast<int>(gridDim.x)) {
    const int n = index / q.bands, first_row = (index - n * q.bands) * q.rows;
    const int rows = q.rows < s.out_h - first_row ? q.rows : s.out_h - first_row;
    __syncthreads();  // nobody reads the last tile any more
    with_type<false>(dtype, [&](auto type) {
      using T = decltype(type);
      fill_image(s, q, static_cast<const T*>(x), n, group, first_row, view);
      const T* maps =
          static_cast<const T*>(dy) + (std::int64_t{n} * s.groups + group) * s.maps * s.out_plane();
      fill_lines(q.chunks * kFewWeightMaps * q.rows, q.dy_pitch, 0, s.out_w, maps, [&](int line) -> Line<T> {
        const int map = quotient(line, q.by_rows), row = line - map * q.rows;
        return {gradient + map * q.dy_plane + row * q.dy_pitch,
                map < s.maps && row < rows
                    ? maps + std::int64_t{map} * s.out_plane() + std::int64_t{first_row + row} * s.out_w
                    : nullptr};
      });
    });
    arrived();
    float sum[kFewWeightMaps][kWidth] = {};
    for (int row = first_line; row < rows; row += q.shares)
      slide_along<kWidth>(q.columns, own_view + row * q.pitch, own_gradient + row * q.dy_pitch, q.dy_plane,
                          sum);
#pragma unroll
    for (int m = 0; m < kFewWeightMaps; ++m)
#pragma unroll
      for (int j = 0; j < kWidth; ++j) total[m][j] += sum[m][j];
  }

  // [share][item][map][tap]: an item's sums follow one another.
  constexpr int kSums = kFewWeightMaps * kWidth;
  __syncthreads();
  float* sums = reinterpret_cast<float*>(memory);
  if (share < q.shares)
#pragma unroll
    for (int k = 0; k < kSums; ++k) sums[thread * kSums + k] = total[k / kWidth][k % kWidth];
  __syncthreads();
  float* out = partial + (std::int64_t{blockIdx.x} * s.groups + group) * s.maps * s.depth();
  for (int k = thread; k < q.items * kSums; k += static_cast<int>(blockDim.x)) {
    float sum = 0;
    for (int other = 0; other < q.shares; ++other) sum += sums[other * q.items * kSums + k];
    const int of = k / kSums, m = k / kWidth % kFewWeightMaps, tap = k % kWidth;
    const int its_chunk = quotient(of, q.by_chunk);
    const int its_line = of - its_chunk * static_cast<int>(q.by_chunk.by),
              map = its_chunk * kFewWeightMaps + m;
    if (map < s.maps) out[map * s.depth() + its_line * kWidth + tap] = sum;
  }
}

template <int kWidth>
void launch_weight(DType dtype, const Sweep& s, const FewChannelsPlan& q, const void* x, const void* dy,
                   void* partial, cudaStream_t stream) {
  const auto kernel = gather<kWidth>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers), static_cast<unsigned>(s.groups));
  kernel<<<grid, q.threads, q.bytes, stream>>>(dtype, s, q, x, dy, static_cast<float*>(partial));
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void conv2d_few_channels_weight(DType dtype, const Sweep& s, const FewChannelsPlan& q, const void* x,
                                const void* dy, void* dw, void* partial, cudaStream_t stream) {
  const auto launch_it = s.kernel_w == 3   ? launch_weight<3>
                         : s.kernel_w == 5 ? launch_weight<5>
                                           : launch_weight<7>;
  launch_it(dtype, s, q, x, dy, partial, stream);
  sum_pieces(dtype, std::int64_t{s.groups} * s.maps * s.depth(), q.workers, partial, dw, stream);
}

}  // namespace headroom::cuda
