// The gradient of the weights with images in shared memory: (channel, tap) pairs are rows, maps are columns,
// and the sum runs over pixels, so the same view serves with rows and sum exchanged. A block keeps its sums
// in registers over all its tiles; warps that share rows are added up at the end, blocks by a second launch.
#include "ops/conv2d/cuda/image_mma.cuh"
#include "ops/conv2d/cuda/sum_pieces.h"

namespace headroom::cuda {
namespace {

constexpr int kRows16 = 2;
constexpr int kPair = 2;  // steps taken together

// dy of a tile as [map][pixel], with zeros where there is none.
template <bool kSplit, class T>
__device__ __noinline__ void fill_gradient(const Sweep& s, const ImagePlan& q, const T* dy, int group,
                                           int first_map, Tile tile, float* to) {
  const std::int64_t plane = s.out_plane();
  const T* from = dy + (std::int64_t{tile.first_image} * s.groups + group) * s.maps * plane +
                  std::int64_t{tile.first_row} * s.out_w;
  const Divide by_pixels = q.by_pixels;  // in registers: see fill_view
  const int images = q.images, pixels = tile.pixels, maps = s.maps, groups = s.groups;
  const int rows = q.maps8 * 8;
  PlaneWalk walk(rows, q.pixel_pitch, static_cast<int>(threadIdx.x), static_cast<int>(blockDim.x));
  fill_from<kSplit>(to, rows * q.pixel_pitch, dy, [=]() mutable -> const T* {
    const int row = walk.row, pixel = walk.column;
    walk.next();
    if (pixel >= pixels || first_map + row >= maps) return nullptr;
    const int image = images > 1 ? quotient(pixel, by_pixels) : 0;
    return from + ((std::int64_t{image} * groups * maps + first_map + row) * plane +
                   (pixel - image * static_cast<int>(by_pixels.by)));
  });
}

// Adds up the warps of the same rows, in order, into those of slice 0.
template <int kMaps8>
__device__ inline void add_slices(const ImagePlan& q, int slice, int row_group, int lane, float* memory,
                                  float (&sum)[kRows16][kMaps8][4]) {
  constexpr int kWords = kRows16 * kMaps8 * 4;
  __syncthreads();
  float* own = memory + ((slice - 1) * q.row_groups + row_group) * kWords * 32 + lane;
  if (slice > 0)
#pragma unroll
    for (int i = 0; i < kWords; ++i) own[i * 32] = sum[i / (4 * kMaps8)][i / 4 % kMaps8][i % 4];
  __syncthreads();
  if (slice > 0) return;
  for (int other = 1; other < q.slices; ++other) {
    const float* from = memory + ((other - 1) * q.row_groups + row_group) * kWords * 32 + lane;
#pragma unroll
    for (int i = 0; i < kWords; ++i) sum[i / (4 * kMaps8)][i / 4 % kMaps8][i % 4] += from[i * 32];
  }
}

template <bool kSplit, int kMaps8>
__global__ void __launch_bounds__(kWeightThreads, 1)
    gather(DType dtype, const __grid_constant__ Sweep s, const __grid_constant__ ImagePlan q, const void* x,
           const void* dy, float* partial) {
  extern __shared__ __align__(16) unsigned char memory[];
  float* gradient = reinterpret_cast<float*>(memory);
  float* view = gradient + kMaps8 * 8 * q.pixel_pitch;
  int2* places = reinterpret_cast<int2*>(view + (q.images * q.view_words + 1) / 2 * 2);
  int block = static_cast<int>(blockIdx.y);
  const int row_block = block % q.row_blocks;
  block /= q.row_blocks;
  const int group = block / q.map_blocks, first_map = (block - group * q.map_blocks) * kMaps8 * 8;
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int g = lane / 4, t = lane % 4, row_group = warp % q.row_groups, slice = warp / q.row_groups;
  const int first_row = (row_block * q.row_groups + row_group) * kRows16 * 16;
  const int whole = q.images * static_cast<int>(q.by_pixels.by);
  for (int i = static_cast<int>(threadIdx.x); i < q.steps * 4; i += static_cast<int>(blockDim.x)) {
    const int pixel = i / 4 * 8 + i % 4;
    places[i] = make_int2(pixel < whole ? pixel_offset(s, q, pixel) : 0,
                          pixel + 4 < whole ? pixel_offset(s, q, pixel + 4) : 0);
  }
  int at[kRows16][2];
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
    at[i][0] = term_offset(s, q, first_row + 16 * i + g),
    at[i][1] = term_offset(s, q, first_row + 16 * i + 8 + g);

  float sum[kRows16][kMaps8][4] = {};
  for (int index = static_cast<int>(blockIdx.x); index < q.tiles; index += static_cast<int>(gridDim.x)) {
    const Tile tile = tile_at(s, q, index);
    __syncthreads();  // nobody reads the last tile any more
    with_type<kSplit>(dtype, [&](auto type) {
      using T = decltype(type);
      fill_tile<kSplit>(s, q, static_cast<const T*>(x), group, tile, view);
      fill_gradient<kSplit>(s, q, static_cast<const T*>(dy), group, first_map, tile, gradient);
    });
    arrived();
    // The unit's sums are fresh every second step: it cuts instead of rounding.
    const float* rows = gradient + g * q.pixel_pitch + t;
#pragma unroll 1
    for (int first = kPair * slice; 8 * first < tile.pixels; first += kPair * q.slices) {
      float acc[kRows16][kMaps8][4] = {};
#pragma unroll
      for (int step = first; step < first + kPair; ++step) {
        const int2 place = places[4 * step + t];  // past the end: in the view, times zero
        float a[kRows16][4], b[kMaps8][2];
#pragma unroll
        for (int j = 0; j < kMaps8; ++j) {
          const float* row = rows + 8 * j * q.pixel_pitch + 8 * step;
          b[j][0] = row[0], b[j][1] = row[4];
        }
#pragma unroll
        for (int i = 0; i < kRows16; ++i) {
          a[i][0] = view[at[i][0] + place.x], a[i][1] = view[at[i][1] + place.x];
          a[i][2] = view[at[i][0] + place.y], a[i][3] = view[at[i][1] + place.y];
        }
        multiply<kSplit>(a, b, acc);
      }
      promote(sum, acc);
    }
  }
  if (q.slices > 1) add_slices<kMaps8>(q, slice, row_group, lane, gradient, sum);
  if (slice > 0) return;
  const std::int64_t depth = s.depth();
  float* out = partial + (std::int64_t{blockIdx.x} * s.groups + group) * s.maps * depth;
#pragma unroll
  for (int i = 0; i < kRows16; ++i)
#pragma unroll
    for (int j = 0; j < kMaps8; ++j)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int row = first_row + 16 * i + 8 * (e / 2) + g, map = first_map + 8 * j + 2 * t + e % 2;
        if (row < depth && map < s.maps) out[map * depth + row] = sum[i][j][e];
      }
}

template <bool kSplit, int kMaps8>
void launch(DType dtype, const Sweep& s, const ImagePlan& q, const void* x, const void* dy, void* partial,
            cudaStream_t stream) {
  const auto kernel = gather<kSplit, kMaps8>;
  HEADROOM_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, q.bytes));
  const dim3 grid(static_cast<unsigned>(q.workers),
                  static_cast<unsigned>(s.groups * q.map_blocks * q.row_blocks));
  kernel<<<grid, 32 * q.row_groups * q.slices, q.bytes, stream>>>(dtype, s, q, x, dy,
                                                                  static_cast<float*>(partial));
  HEADROOM_CUDA_LAUNCHED();
}

template <bool kSplit>
auto launcher(int maps8) {
  return maps8 == 1   ? launch<kSplit, 1>
         : maps8 == 2 ? launch<kSplit, 2>
         : maps8 == 3 ? launch<kSplit, 3>
                      : launch<kSplit, 4>;
}

}  // namespace

void conv2d_image_mma_weight(DType dtype, bool tf32, const Sweep& s, const ImagePlan& q, const void* x,
                             const void* dy, void* dw, void* partial, cudaStream_t stream) {
  const auto launch_it = dtype == DType::f32 && !tf32 ? launcher<true>(q.maps8) : launcher<false>(q.maps8);
  launch_it(dtype, s, q, x, dy, partial, stream);
  sum_pieces(dtype, std::int64_t{s.groups} * s.maps * s.depth(), q.workers, partial, dw, stream);
}

}  // namespace headroom::cuda
