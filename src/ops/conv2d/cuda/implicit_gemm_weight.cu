// The gradient of the weights as a product of gathered tiles: (channel, tap) pairs are rows, maps are
// columns, the sum runs over the pixels of all images, cut into pieces that a second launch adds up.
#include "ops/conv2d/cuda/implicit_gemm.cuh"
#include "ops/conv2d/cuda/sum_pieces.h"

namespace headroom::cuda {
namespace {

// Pixels of all images, stepped through one by one.
struct Pixel {
  int n, row, column, rest;
  __device__ Pixel(const Sweep& s, int pixel) : n(pixel / s.out_plane()), rest(pixel - n * s.out_plane()) {
    row = rest / s.out_w, column = rest - row * s.out_w;
  }
  __device__ void next(const Sweep& s) {
    ++rest;
    if (++column < s.out_w) return;
    column = 0;
    if (++row < s.out_h) return;
    row = rest = 0, ++n;
  }
};

template <Arithmetic kWay, int kColumns8>
__global__ void __launch_bounds__(kTileThreads)
    gather(const __grid_constant__ Sweep s, const typename Words<kWay>::Element* __restrict__ x,
           const typename Words<kWay>::Element* __restrict__ dy,
           Compute<typename Words<kWay>::Element>* __restrict__ partial) {
  using T = typename Words<kWay>::Element;
  using C = Compute<T>;
  using Product = TileProduct<kWay, kColumns8>;
  constexpr int kStep = kTileWords * kPerWord<kWay>;
  const int map_blocks = (s.maps + Product::kColumns - 1) / Product::kColumns;
  const int group = static_cast<int>(blockIdx.y) / map_blocks;
  const int first_map = (static_cast<int>(blockIdx.y) - group * map_blocks) * Product::kColumns;
  const int first_term = static_cast<int>(blockIdx.x) * kTileRows, depth = s.depth();
  const int pixels = static_cast<int>(s.pixels()), total = (pixels + kStep - 1) / kStep;
  const int pieces = static_cast<int>(gridDim.z), piece = static_cast<int>(blockIdx.z);
  const int per_piece = (total + pieces - 1) / pieces;
  const int last = (piece + 1) * per_piece < total ? (piece + 1) * per_piece : total;
  const std::int64_t in_plane = s.in_plane(), out_plane = s.out_plane();
  const Term terms[2] = {Term(s, first_term + share_along_sum(0).row),
                         Term(s, first_term + share_along_sum(1).row)};

  Product product;
  product.run(
      piece * per_piece, last, kWay == Arithmetic::fp32 ? 1 : 4, share_along_sum, share_along_sum,
      [&](int tile, int i, Quad<kWay>& to) {
        const int first = tile * kStep + share_along_sum(i).quad * 4 * kPerWord<kWay>;
        Pixel pixel(s, first);
        to.gather([&](int k) {
          T value{};
          const int h = source(pixel.row * s.mul_h + s.off_h + terms[i].row * s.step_h, 1, s.in_h);
          const int v = source(pixel.column * s.mul_w + s.off_w + terms[i].column * s.step_w, 1, s.in_w);
          if (terms[i].k < depth && first + k < pixels && h >= 0 && v >= 0)
            value =
                x[((std::int64_t{pixel.n} * s.groups + group) * s.channels + terms[i].channel) * in_plane +
                  std::int64_t{h} * s.in_w + v];
          pixel.next(s);
          return value;
        });
      },
      [&](int tile, int i, Quad<kWay>& to) {
        const int first = tile * kStep + share_along_sum(i).quad * 4 * kPerWord<kWay>;
        const int map = first_map + share_along_sum(i).row;
        Pixel pixel(s, first);
        to.gather([&](int k) {
          T value{};
          if (map < s.maps && first + k < pixels)
            value = dy[((std::int64_t{pixel.n} * s.groups + group) * s.maps + map) * out_plane + pixel.rest];
          pixel.next(s);
          return value;
        });
      });
  C* out = partial + (std::int64_t{piece} * s.groups + group) * s.maps * depth;
  product.each([&](int row, int column, C value) {
    const int term = first_term + row, map = first_map + column;
    if (term < depth && map < s.maps) out[std::int64_t{map} * depth + term] = value;
  });
}

}  // namespace

void conv2d_implicit_gemm_weight(DType dtype, bool tf32, const Sweep& s, int pieces, const void* x,
                                 const void* dy, void* dw, void* partial, cudaStream_t stream) {
  dispatch_ways(dtype, tf32, s.maps, [&]<Arithmetic kWay, int kColumns8>() {
    using T = typename Words<kWay>::Element;
    constexpr int kColumns = TileProduct<kWay, kColumns8>::kColumns;
    const dim3 grid(blocks_for(s.depth(), kTileRows),
                    static_cast<unsigned>(s.groups * ((s.maps + kColumns - 1) / kColumns)),
                    static_cast<unsigned>(pieces));
    const auto kernel = gather<kWay, kColumns8>;
    kernel<<<grid, kTileThreads, 0, stream>>>(s, static_cast<const T*>(x), static_cast<const T*>(dy),
                                              static_cast<Compute<T>*>(partial));
    HEADROOM_CUDA_LAUNCHED();
  });
  sum_pieces(dtype, std::int64_t{s.groups} * s.maps * s.depth(), pieces, partial, dw, stream);
}

}  // namespace headroom::cuda
