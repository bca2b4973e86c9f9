#include "ops/conv2d/cuda/fft.h"

#include "ops/conv2d/cuda/rungs.cuh"

namespace headroom::cuda {
namespace {

__device__ inline float2 times(float2 a, float2 b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

// A square of complex numbers in shared memory, transformed in place. Forward, the frequencies come out with
// the bits of their numbers reversed, in both dimensions; back, they go in like that: no reordering.
class Square {
 public:
  __device__ explicit Square(const FftPlan& plan) : side_(plan.side), pitch_(plan.pitch()) {
    extern __shared__ float2 complex_numbers[];
    z_ = complex_numbers;
    roots_ = z_ + side_ * pitch_;
    shift_ = __clz(side_) + 1;
    for (int j = me(); j < side_ / 2; j += threads()) {  // exp(-2 pi i j / side)
      float sine, cosine;
      sincospif(2.0F * static_cast<float>(j) / static_cast<float>(side_), &sine, &cosine);
      roots_[j] = {cosine, -sine};
    }
  }

  __device__ static int me() { return static_cast<int>(threadIdx.x); }
  __device__ static int threads() { return static_cast<int>(blockDim.x); }
  __device__ float2& pixel(int row, int column) { return z_[row * pitch_ + column]; }
  __device__ float2& frequency(int row, int column) { return z_[reversed(row) * pitch_ + reversed(column)]; }
  __device__ int opposite(int frequency) const { return (side_ - frequency) & (side_ - 1); }

  // Both begin and end with a barrier.
  __device__ void transform() {
    for (int dimension = 0; dimension < 2; ++dimension)
      for (int half = side_ / 2; half >= 1; half /= 2) pass<false>(dimension, half);
    __syncthreads();
  }
  __device__ void transform_back() {
    for (int dimension = 0; dimension < 2; ++dimension)
      for (int half = 1; half < side_; half *= 2) pass<true>(dimension, half);
    __syncthreads();
  }

 private:
  __device__ int reversed(int number) const {
    return static_cast<int>(__brev(static_cast<unsigned>(number)) >> shift_);
  }

  // Pairs that are `half` apart, in rows (dimension 0) or columns. Neighbouring threads take neighbouring
  // lines: they share a root, and the pitch keeps their elements in different banks.
  template <bool kBack>
  __device__ void pass(int dimension, int half) {
    const int line_step = dimension == 0 ? pitch_ : 1, step = dimension == 0 ? 1 : pitch_;
    __syncthreads();
    for (int at = me(); at < side_ * side_ / 2; at += threads()) {
      const int line = at & (side_ - 1), pair = at / side_, within = pair & (half - 1);
      float2* const first = z_ + line * line_step + (2 * pair - within) * step;
      float2* const second = first + half * step;
      const float2 root = roots_[within * (side_ / 2 / half)], a = *first;
      if constexpr (kBack) {
        const float2 b = times(*second, {root.x, -root.y});
        *first = {a.x + b.x, a.y + b.y}, *second = {a.x - b.x, a.y - b.y};
      } else {
        const float2 b = *second;
        *first = {a.x + b.x, a.y + b.y}, *second = times({a.x - b.x, a.y - b.y}, root);
      }
    }
  }

  int side_, pitch_, shift_;
  float2 *z_, *roots_;
};

// Element (row, column) of what is transformed, for one channel of a tile of the images.
struct ImagePixels {
  Sweep s;
  FftPlan plan;
  const float* x;
  std::int64_t first;  // tile
  __device__ float operator()(unsigned tile, int channel, int row, int column) const {
    const std::int64_t at = first + tile, image = at / plan.tiles();
    const int place = static_cast<int>(at - image * plan.tiles()), place_row = place / plan.across;
    const int h = source(place_row * plan.rows + plan.top + row, 1, s.in_h),
              v = source((place - place_row * plan.across) * plan.columns + plan.left + column, 1, s.in_w);
    return h < 0 || v < 0 ? 0.0F : x[(image * s.channels + channel) * s.in_plane() + h * s.in_w + v];
  }
};

// The same for one channel of a filter: taps lie as far apart as the window's steps, turned around where it
// walks backwards.
struct FilterTaps {
  Sweep s;
  const float* w;
  __device__ static int tap(int at, int step, int kernel) {
    const int distance = abs(step), number = at / distance;
    if (number * distance != at || number >= kernel) return -1;
    return step < 0 ? kernel - 1 - number : number;
  }
  __device__ float operator()(unsigned map, int channel, int row, int column) const {
    const int i = tap(row, s.step_h, s.kernel_h), j = tap(column, s.step_w, s.kernel_w);
    if (i < 0 || j < 0) return 0.0F;
    return w[map * s.weight_map + channel * s.weight_channel + i * s.kernel_w + j];
  }
};

// A block transforms two channels at once, one as real and one as imaginary part. Its grid: tiles or maps,
// pairs of channels. `to`: frequencies of `pixels(a, channel)` at a * step_a + channel * step_channel, in
// float2. Filters become conjugate, since windows slide without being turned around, and take the factor of
// the way back.
template <bool kFilters, class Pixels>
__global__ void __launch_bounds__(256)
    spectra(const __grid_constant__ Pixels pixels, const __grid_constant__ FftPlan plan, int channels,
            std::int64_t step_a, std::int64_t step_channel, float2* __restrict__ to) {
  Square square(plan);
  const int channel = 2 * static_cast<int>(blockIdx.y);
  const bool both = channel + 1 < channels;
  for (int at = Square::me(); at < plan.side * plan.side; at += Square::threads()) {
    const int row = at / plan.side, column = at & (plan.side - 1);
    square.pixel(row, column) = {pixels(blockIdx.x, channel, row, column),
                                 both ? pixels(blockIdx.x, channel + 1, row, column) : 0.0F};
  }
  square.transform();
  // Of real pixels, frequency -f is the conjugate of f: that tells the two apart.
  float2* const first = to + blockIdx.x * step_a + channel * step_channel;
  const float factor = 0.5F * (kFilters ? 1.0F / static_cast<float>(plan.side * plan.side) : 1.0F),
              turn = kFilters ? -factor : factor;
  const int across = plan.side / 2 + 1;
  for (int at = Square::me(); at < plan.frequencies(); at += Square::threads()) {
    const int row = at / across, column = at - row * across;
    const float2 z = square.frequency(row, column),
                 other = square.frequency(square.opposite(row), square.opposite(column));
    first[at] = {factor * (z.x + other.x), turn * (z.y - other.y)};
    if (both) first[step_channel + at] = {factor * (z.y + other.y), turn * (other.x - z.x)};
  }
}

// One thread for each frequency of kFftTiles tiles and kFftMaps maps: what it reads lies side by side for
// neighbouring threads. Grid: maps, then frequencies and tiles.
__global__ void __launch_bounds__(kFftThreads)
    multiply_spectra(int channels, int maps, int count, int frequencies, const float2* __restrict__ filters,
                     const float2* __restrict__ tiles, float2* __restrict__ products) {
  const int map_groups = (maps + kFftMaps - 1) / kFftMaps;
  const int block = static_cast<int>(blockIdx.x) / map_groups,
            map = (static_cast<int>(blockIdx.x) - block * map_groups) * kFftMaps;
  const int at = block * kFftThreads + static_cast<int>(threadIdx.x), group = at / frequencies;
  const int frequency = at - group * frequencies, tile = group * kFftTiles;
  if (tile >= count) return;
  const std::int64_t plane = std::int64_t{count} * frequencies;  // from one channel or map to the next
  const float2 *from_tile[kFftTiles], *from_filter[kFftMaps];
#pragma unroll
  for (int t = 0; t < kFftTiles; ++t)  // beyond the last one: the last one again, not stored
    from_tile[t] = tiles + std::int64_t{min(tile + t, count - 1)} * frequencies + frequency;
#pragma unroll
  for (int m = 0; m < kFftMaps; ++m)
    from_filter[m] = filters + std::int64_t{min(map + m, maps - 1)} * channels * frequencies + frequency;
  float2 sum[kFftMaps][kFftTiles] = {};
  for (int c = 0; c < channels; ++c) {
    float2 pixel[kFftTiles];
#pragma unroll
    for (int t = 0; t < kFftTiles; ++t) pixel[t] = *from_tile[t], from_tile[t] += plane;
#pragma unroll
    for (int m = 0; m < kFftMaps; ++m) {
      const float2 tap = *from_filter[m];
      from_filter[m] += frequencies;
#pragma unroll
      for (int t = 0; t < kFftTiles; ++t) {
        sum[m][t].x += tap.x * pixel[t].x - tap.y * pixel[t].y;
        sum[m][t].y += tap.x * pixel[t].y + tap.y * pixel[t].x;
      }
    }
  }
#pragma unroll
  for (int m = 0; m < kFftMaps; ++m)
#pragma unroll
    for (int t = 0; t < kFftTiles; ++t)
      if (map + m < maps && tile + t < count)
        products[(map + m) * plane + std::int64_t{tile + t} * frequencies + frequency] = sum[m][t];
}

// A block makes the outputs of two maps of a tile. Grid: tiles, pairs of maps.
__global__ void __launch_bounds__(256)
    outputs(const __grid_constant__ Sweep s, const __grid_constant__ FftPlan plan, std::int64_t first_tile,
            int count, const float2* __restrict__ products, const float* __restrict__ bias,
            float* __restrict__ y) {
  Square square(plan);
  const int map = 2 * static_cast<int>(blockIdx.y), across = plan.side / 2 + 1;
  const bool both = map + 1 < s.maps;
  const std::int64_t plane = std::int64_t{count} * plan.frequencies();
  const float2* const from = products + map * plane + std::int64_t{blockIdx.x} * plan.frequencies();
  for (int at = Square::me(); at < plan.frequencies(); at += Square::threads()) {
    const int row = at / across, column = at - row * across;
    const float2 a = from[at], b = both ? from[plane + at] : float2{0, 0};
    square.frequency(row, column) = {a.x - b.y, a.y + b.x};  // a + i b
    if (column > 0 && column < plan.side / 2)                // of -f: both conjugate
      square.frequency(square.opposite(row), square.opposite(column)) = {a.x + b.y, b.x - a.y};
  }
  square.transform_back();
  const std::int64_t tile = first_tile + blockIdx.x, image = tile / plan.tiles();
  const int place = static_cast<int>(tile - image * plan.tiles()), place_row = place / plan.across;
  const int top = place_row * plan.rows, left = (place - place_row * plan.across) * plan.columns;
  float* const to = y + (image * s.maps + map) * s.out_plane();
  const float shift = bias == nullptr ? 0.0F : bias[map],
              second_shift = bias == nullptr || !both ? 0.0F : bias[map + 1];
  for (int at = Square::me(); at < plan.rows * plan.columns; at += Square::threads()) {
    const int row = at / plan.columns, column = at - row * plan.columns;
    if (top + row >= s.out_h || left + column >= s.out_w) continue;
    const float2 z = square.pixel(row, column);
    const int place_in_plane = (top + row) * s.out_w + left + column;
    to[place_in_plane] = activate(s.activation, z.x + shift);
    if (both) to[s.out_plane() + place_in_plane] = activate(s.activation, z.y + second_shift);
  }
}

// More than every block may have is needed by the largest transforms alone: one number, which no other launch
// of the function lowers again.
template <class Function>
void allow_shared(Function* function, const FftPlan& plan) {
  if (plan.shared_bytes() > 48 * 1024)
    HEADROOM_CUDA_CHECK(
        cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, plan.shared_bytes()));
}

unsigned pairs_of(int count) { return static_cast<unsigned>((count + 1) / 2); }

}  // namespace

void fft_filters(const Sweep& s, const FftPlan& plan, const float* w, float* filters, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(s.maps), pairs_of(s.channels));
  allow_shared(spectra<true, FilterTaps>, plan);
  spectra<true><<<grid, plan.threads(), plan.shared_bytes(), stream>>>(
      FilterTaps{s, w}, plan, s.channels, std::int64_t{s.channels} * plan.frequencies(), plan.frequencies(),
      reinterpret_cast<float2*>(filters));
  HEADROOM_CUDA_LAUNCHED();
}

void fft_tiles(const Sweep& s, const FftPlan& plan, std::int64_t first, int count, const float* x,
               const float* filters, const float* bias, float* y, float* tiles, float* products,
               cudaStream_t stream) {
  const auto tiles_of_grid = static_cast<unsigned>(count);
  const std::int64_t plane = std::int64_t{count} * plan.frequencies();
  allow_shared(spectra<false, ImagePixels>, plan);
  allow_shared(outputs, plan);
  spectra<false><<<dim3(tiles_of_grid, pairs_of(s.channels)), plan.threads(), plan.shared_bytes(), stream>>>(
      ImagePixels{s, plan, x, first}, plan, s.channels, plan.frequencies(), plane,
      reinterpret_cast<float2*>(tiles));
  HEADROOM_CUDA_LAUNCHED();
  const std::int64_t threads = (count + kFftTiles - 1) / kFftTiles * std::int64_t{plan.frequencies()};
  const unsigned map_groups = static_cast<unsigned>((s.maps + kFftMaps - 1) / kFftMaps);
  multiply_spectra<<<blocks_for(threads, kFftThreads) * map_groups, kFftThreads, 0, stream>>>(
      s.channels, s.maps, count, plan.frequencies(), reinterpret_cast<const float2*>(filters),
      reinterpret_cast<const float2*>(tiles), reinterpret_cast<float2*>(products));
  HEADROOM_CUDA_LAUNCHED();
  outputs<<<dim3(tiles_of_grid, pairs_of(s.maps)), plan.threads(), plan.shared_bytes(), stream>>>(
      s, plan, first, count, reinterpret_cast<const float2*>(products), bias, y);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
