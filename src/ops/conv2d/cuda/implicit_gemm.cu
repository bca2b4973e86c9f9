// Convolution as a product with the unrolled matrix, which is gathered tile by tile and never stored: pixels
// of all images are rows, maps are columns, the sum runs over channels and taps. For images too large to be
// held whole. Few tiles: the sum is cut into pieces, added up by a second launch.
#include "ops/conv2d/cuda/implicit_gemm.cuh"
#include "ops/conv2d/cuda/sum_pieces.h"

namespace headroom::cuda {
namespace {

template <Arithmetic kWay, int kColumns8>
__global__ void __launch_bounds__(kTileThreads)
    slide(const __grid_constant__ Sweep s, const typename Words<kWay>::Element* __restrict__ x,
          const typename Words<kWay>::Element* __restrict__ w,
          const typename Words<kWay>::Element* __restrict__ bias,
          typename Words<kWay>::Element* __restrict__ y,
          Compute<typename Words<kWay>::Element>* __restrict__ partial) {
  using T = typename Words<kWay>::Element;
  using C = Compute<T>;
  using Product = TileProduct<kWay, kColumns8>;
  constexpr int kStep = kTileWords * kPerWord<kWay>;
  const int map_blocks = (s.maps + Product::kColumns - 1) / Product::kColumns;
  const int group = static_cast<int>(blockIdx.y) / map_blocks;
  const int first_map = (static_cast<int>(blockIdx.y) - group * map_blocks) * Product::kColumns;
  const std::int64_t first_pixel = std::int64_t{blockIdx.x} * kTileRows;
  const int plane = s.out_plane(), depth = s.depth(), total = (depth + kStep - 1) / kStep;
  const int pieces = static_cast<int>(gridDim.z), piece = static_cast<int>(blockIdx.z);
  const int per_piece = (total + pieces - 1) / pieces;
  const int last = (piece + 1) * per_piece < total ? (piece + 1) * per_piece : total;

  // Both shares of a thread lie in one row: it gathers one pixel.
  const std::int64_t pixel = first_pixel + share_along_rows(0).row;
  const bool inside = pixel < s.pixels();
  const std::int64_t n = inside ? pixel / plane : 0;
  const int rest = inside ? static_cast<int>(pixel - n * plane) : 0;
  const int top = rest / s.out_w * s.mul_h + s.off_h, left = rest % s.out_w * s.mul_w + s.off_w;
  const T* image = x + (n * s.groups + group) * s.channels * s.in_plane();
  const T* weights = w + group * s.weight_group;

  Product product;
  product.run(
      piece * per_piece, last, kWay == Arithmetic::fp32 ? 1 : 0, share_along_rows, share_along_sum,
      [&](int tile, int i, Quad<kWay>& to) {
        Term term(s, tile * kStep + share_along_rows(i).quad * 4 * kPerWord<kWay>);
        to.gather([&](int) {
          T value{};
          const int h = source(top + term.row * s.step_h, s.div_h, s.in_h);
          const int v = source(left + term.column * s.step_w, s.div_w, s.in_w);
          if (inside && term.k < depth && h >= 0 && v >= 0)
            value = image[(std::int64_t{term.channel} * s.in_h + h) * s.in_w + v];
          term.next(s);
          return value;
        });
      },
      [&](int tile, int i, Quad<kWay>& to) {
        const int map = first_map + share_along_sum(i).row;
        Term term(s, tile * kStep + share_along_sum(i).quad * 4 * kPerWord<kWay>);
        to.gather([&](int) {
          T value{};
          if (map < s.maps && term.k < depth)
            value = weights[map * s.weight_map + term.channel * s.weight_channel + term.row * s.kernel_w +
                            term.column];
          term.next(s);
          return value;
        });
      });
  product.each([&](int row, int column, C value) {
    const std::int64_t at = first_pixel + row;
    const int map = first_map + column;
    if (at >= s.pixels() || map >= s.maps) return;
    const std::int64_t image_at = at / plane;
    const int channel = group * s.maps + map;
    const std::int64_t to = (image_at * s.groups * s.maps + channel) * plane + (at - image_at * plane);
    if (pieces > 1)
      partial[piece * s.pixels() * s.groups * s.maps + to] = value;
    else
      y[to] = narrow<T>(activate(s.activation, value + (bias == nullptr ? C{0} : widen(bias[channel]))));
  });
}

}  // namespace

void conv2d_implicit_gemm(DType dtype, bool tf32, const Sweep& s, int pieces, const void* x, const void* w,
                          const void* bias, void* y, void* partial, cudaStream_t stream) {
  dispatch_ways(dtype, tf32, s.maps, [&]<Arithmetic kWay, int kColumns8>() {
    using T = typename Words<kWay>::Element;
    constexpr int kColumns = TileProduct<kWay, kColumns8>::kColumns;
    const dim3 grid(blocks_for(s.pixels(), kTileRows),
                    static_cast<unsigned>(s.groups * ((s.maps + kColumns - 1) / kColumns)),
                    static_cast<unsigned>(pieces));
    const auto kernel = slide<kWay, kColumns8>;
    kernel<<<grid, kTileThreads, 0, stream>>>(s, static_cast<const T*>(x), static_cast<const T*>(w),
                                              static_cast<const T*>(bias), static_cast<T*>(y),
                                              static_cast<Compute<T>*>(partial));
    HEADROOM_CUDA_LAUNCHED();
  });
  if (pieces > 1)
    sum_pieces(dtype, s.pixels() * s.groups * s.maps, pieces, partial, y, stream,
               {bias, s.out_plane(), s.groups * s.maps, s.activation});
}

}  // namespace headroom::cuda
