// Few channels in ordinary fp32 arithmetic: a thread makes 2 rows x 6 columns x 6 maps from registers. An
// element read serves up to 7 x 12 products and a weight 12, so the arithmetic is the bound, and after it a
// costly activation. Warps sort their outputs in shared memory so that neighbours are written together.
#include "ops/conv2d/cuda/few_channels.cuh"

namespace headroom::cuda {
namespace {

constexpr int kColumns = kFewColumns, kMaps = kFewMaps;
constexpr int kRun = 32 * kColumns;  // columns that a warp makes of each row and map

// [chunk of maps][channel, row of taps][tap][6 maps, 2 unused], flipped for a gradient; behind them a
// chunk's biases.
template <int kWidth, class T>
__device__ __noinline__ void fill_weights(const Sweep& s, const FewChannelsPlan& q, const T* w, const T* bias,
                                          float* weights, float* biases) {
  const int lines = s.channels * s.kernel_h;
  fill(weights, q.chunks * s.depth() * 8, [&](int e) {
    const int m = e % 8, tap = e / 8 % kWidth, line = e / 8 / kWidth;
    const int chunk = line / lines, rest = line - chunk * lines, map = chunk * kMaps + m;
    if (m >= kMaps || map >= s.maps) return 0.0F;
    const int channel = rest / s.kernel_h, row = rest - channel * s.kernel_h;
    const int i = s.step_h < 0 ? s.kernel_h - 1 - row : row, j = s.step_w < 0 ? kWidth - 1 - tap : tap;
    return widen(w[map * s.weight_map + channel * s.weight_channel + i * kWidth + j]);
  });
  fill(biases, q.chunks * 8, [&](int e) {
    const int map = e / 8 * kMaps + e % 8;
    return bias == nullptr || e % 8 >= kMaps || map >= s.maps ? 0.0F : widen(bias[map]);
  });
}

// One register tile's sums. `line` is its first element in the view.
template <int kWidth>
__device__ inline void sum_tile(const Sweep& s, const FewChannelsPlan& q, const float* view,
                                const float* weights, float (&sum)[2][kColumns][kMaps]) {
  constexpr int kSpan = kColumns + kWidth - 1;
  static_assert(kSpan % 2 == 0);
  const auto read = [](const float* from, float(&to)[kSpan]) {
#pragma unroll
    for (int k = 0; k < kSpan; k += 2) {
      const float2 pair = *reinterpret_cast<const float2*>(from + k);
      to[k] = pair.x, to[k + 1] = pair.y;
    }
  };
  for (int channel = 0; channel < s.channels; ++channel) {
    const float* line = view + channel * q.plane;
    float upper[kSpan], lower[kSpan];
    read(line, upper);
#pragma unroll 1
    for (int i = 0; i < s.kernel_h; ++i) {
      line += q.pitch;
      read(line, lower);
#pragma unroll
      for (int j = 0; j < kWidth; ++j, weights += 8) {
        const float4 four = *reinterpret_cast<const float4*>(weights);
        const float2 two = *reinterpret_cast<const float2*>(weights + 4);
        const float weight[kMaps] = {four.x, four.y, four.z, four.w, two.x, two.y};
#pragma unroll
        for (int c = 0; c < kColumns; ++c)
#pragma unroll
          for (int m = 0; m < kMaps; ++m) {
            sum[0][c][m] = fmaf(upper[c + j], weight[m], sum[0][c][m]);
            sum[1][c][m] = fmaf(lower[c + j], weight[m], sum[1][c][m]);
          }
      }
#pragma unroll
      for (int k = 0; k < kSpan; ++k) upper[k] = lower[k];
    }
  }
}

// f of many at once: their latencies overlap.
template <int N>
__device__ inline void activate_all(int kind, float (&value)[N]) {
  if (kind == 3) {
#pragma unroll
    for (int k = 0; k < N; ++k) value[k] = tanhf(value[k]);
  } else if (kind != 0) {
#pragma unroll
    for (int k = 0; k < N; ++k) value[k] = activate(kind, value[k]);
  }
}

// The warp's register tiles, from item `first` on, in the order in which they lie in memory. `y` points at
// the group's first map and the tile's first row.
template <class T>
__device__ inline void store(const Sweep& s, const FewChannelsPlan& q, int first, int rows,
                             const float* stage, T* y) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int plane = s.out_plane();
  int to[kColumns], maps[kColumns];
  bool second[kColumns];
#pragma unroll
  for (int k = 0; k < kColumns; ++k) {
    const int at = first * kColumns + 32 * k + lane, item = at / kColumns;
    const int chunk = quotient(item, q.by_chunk), rest = item - chunk * static_cast<int>(q.by_chunk.by);
    const int row = 2 * quotient(rest, q.by_columns);
    const int column = (rest - row / 2 * q.columns) * kColumns + (at - item * kColumns);
    to[k] = chunk * kMaps * plane + row * s.out_w + column;
    maps[k] = item < q.items && row < rows && column < s.out_w ? s.maps - chunk * kMaps : 0;
    second[k] = row + 1 < rows;
  }
#pragma unroll 1
  for (int m = 0; m < kMaps; ++m, y += plane) {
    float value[2 * kColumns];
#pragma unroll
    for (int k = 0; k < 2 * kColumns; ++k) value[k] = stage[m * 2 * kRun + 32 * k + lane];
    activate_all(s.activation, value);
#pragma unroll
    for (int k = 0; k < kColumns; ++k) {
      if (m >= maps[k]) continue;
      y[to[k]] = narrow<T>(value[k]);
      if (second[k]) y[to[k] + s.out_w] = narrow<T>(value[kColumns + k]);
    }
  }
}

template <int kWidth>
__global__ void __launch_bounds__(kFewThreads, 2)
    slide(DType dtype, const __grid_constant__ Sweep s, const __grid_constant__ FewChannelsPlan q,
          const void* x, const void* w, const void* bias, void* y) {
  extern __shared__ __align__(16) unsigned char memory[];
  const int warp = static_cast<int>(threadIdx.x) / 32, warps = static_cast<int>(blockDim.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32, group = static_cast<int>(blockIdx.y);
  float* stage = reinterpret_cast<float*>(memory) + warp * kFewStage;
  float* weights = reinterpret_cast<float*>(memory) + warps * kFewStage;
  float* biases = weights + q.chunks * s.depth() * 8;
  float* view = biases + q.chunks * 8;
  const auto fill_with = [&](int index) {
    const int n = index / q.bands, first_row = (index - n * q.bands) * q.rows;
    with_type<false>(dtype, [&](auto type) {
      fill_image(s, q, static_cast<const decltype(type)*>(x), n, group, first_row, view);
    });
  };
  const int begin = static_cast<int>(blockIdx.x);
  fill_with(begin);  // under way while the weights are read
  with_type<false>(dtype, [&](auto type) {
    using T = decltype(type);
    fill_weights<kWidth>(s, q, static_cast<const T*>(w) + group * s.weight_group,
                         bias == nullptr ? nullptr : static_cast<const T*>(bias) + group * s.maps, weights,
                         biases);
  });
  for (int index = begin; index < q.tiles; index += static_cast<int>(gridDim.x)) {
    const int n = index / q.bands, first_row = (index - n * q.bands) * q.rows;
    const int rows = q.rows < s.out_h - first_row ? q.rows : s.out_h - first_row;
    if (index > begin) {
      __syncthreads();  // nobody reads the last tile any more
      fill_with(index);
    }
    arrived();
#pragma unroll 1
    for (int first = warp * 32; first < q.items; first += warps * 32) {
      const int item = first + lane < q.items ? first + lane : q.items - 1;  // those past the end: not stored
      const int chunk = quotient(item, q.by_chunk), rest = item - chunk * static_cast<int>(q.by_chunk.by);
      const int pair = quotient(rest, q.by_columns), column = rest - pair * q.columns;
      float sum[2][kColumns][kMaps];
#pragma unroll
      for (int m = 0; m < kMaps; ++m) {
        const float shift = biases[chunk * 8 + m];
#pragma unroll
        for (int c = 0; c < kColumns; ++c) sum[0][c][m] = sum[1][c][m] = shift;
      }
      sum_tile<kWidth>(s, q, view + 2 * pair * q.pitch + column * kColumns, weights + chunk * s.depth() * 8,
                       sum);
      __syncwarp();  // the last outputs are gone
#pragma unroll
      for (int m = 0; m < kMaps; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int c = 0; c < kColumns; c += 2)
            *reinterpret_cast<float2*>(stage + (2 * m + h) * kRun + lane * kColumns + c) =
                make_float2(sum[h][c][m], sum[h][c + 1][m]);
      __syncwarp();
      with_type<false>(dtype, [&](auto type) {
        using T = decltype(type);
        store(s, q, first, rows, stage,
              static_cast<T*>(y) + (std::int64_t{n} * s.groups + group) * s.maps * s.out_plane() +
                  std::int64_t{first_row} * s.out_w);
      });
    }
  }
}

template <int kWidth>
void launch(DType dtype, const Sweep& s, const FewChannelsPlan& q, const void* x, const void* w,
            const void* bias, void* y, cudaStream_t stream) {
  const auto kernel = slide<kWidth>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers), static_cast<unsigned>(s.groups));
  kernel<<<grid, q.threads, q.bytes, stream>>>(dtype, s, q, x, w, bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace

void conv2d_few_channels(DType dtype, const Sweep& s, const FewChannelsPlan& q, const void* x, const void* w,
                         const void* bias, void* y, cudaStream_t stream) {
  const auto launch_it = s.kernel_w == 3 ? launch<3> : s.kernel_w == 5 ? launch<5> : launch<7>;
  launch_it(dtype, s, q, x, w, bias, y, stream);
}

}  // namespace headroom::cuda
