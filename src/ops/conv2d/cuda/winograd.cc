// Winograd's F(2x2, 3x3): 16 products for four outputs and nine taps, where the definition has 36. Filters
// and tiles of the image are transformed by additions, multiplied as 16 matrices, and transformed back.
#include <algorithm>
#include <cstdlib>

#include "ops/conv2d/cuda/rungs.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// winograd.cu. `filters`: [16][groups][maps][channels].
void winograd_filters(const Sweep& s, const float* w, float* filters, cudaStream_t stream);
// y of `images`, from `first` on; `tiles` and `products` are scratch of [16][images * groups][channels or
// maps][tiles].
void winograd_images(const Sweep& s, int first, int images, const float* x, const float* filters,
                     const float* bias, float* y, float* tiles, float* products, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

constexpr std::int64_t kScratchBytes = 256LL << 20;

std::int64_t tiles_of(const Sweep& s) { return ceil_div(s.out_h, 2) * ceil_div(s.out_w, 2); }
std::int64_t filter_floats(const Sweep& s) { return std::int64_t{16} * s.groups * s.maps * s.channels; }
// Of one image.
std::int64_t tile_floats(const Sweep& s) { return 16 * tiles_of(s) * s.groups * s.channels; }
std::int64_t product_floats(const Sweep& s) { return 16 * tiles_of(s) * s.groups * s.maps; }

int chunk_of(const Sweep& s) {
  const std::int64_t fitting = kScratchBytes / (4 * (tile_floats(s) + product_floats(s)));
  return static_cast<int>(
      std::clamp<std::int64_t>(std::min<std::int64_t>(fitting, 65535 / 16 / s.groups), 1, s.batch));
}

Verdict accepts(const Problem& p, const Target&) {
  const Sweep s = sweep_of(p);
  if (Verdict v = accepts_rung(p, s); !v.ok) return v;
  if (is_weight_gradient(p)) return refuse("the transform of outputs: weights need another one");
  if (s.kernel_h != 3 || s.kernel_w != 3) return refuse("takes windows of 3 x 3");
  if (s.mul_h != 1 || s.mul_w != 1 || s.div_h != 1 || s.div_w != 1) return refuse("needs stride 1");
  if (std::abs(s.step_h) != 1 || std::abs(s.step_w) != 1) return refuse("takes no dilation");
  if (s.groups > 65535 / 16) return refuse("more groups than its grid");
  return accept();
}

std::size_t workspace(const Problem& p, const Target&) {
  const Sweep s = sweep_of(p);
  return 4 * static_cast<std::size_t>(filter_floats(s) + chunk_of(s) * (tile_floats(s) + product_floats(s)));
}

Work work(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  const double tiles = double(s.batch) * s.groups * double(tiles_of(s));
  const std::int64_t blocks = ceil_div(tiles_of(s), 128) * ceil_div(s.maps, 32) * 16 * s.groups * s.batch;
  Work work = rung_work(p, target, "gpu.conv.register_product", blocks,
                        4.0 * double(blocks) * s.channels * 160, {32, 128, 16});
  const int chunks = static_cast<int>(ceil_div(s.batch, chunk_of(s)));
  // 16 products a tile, map and channel; 32 additions a transformed tile, 24 back, 28 a filter.
  work.main().flops = tiles * (32.0 * s.maps * s.channels + 32.0 * s.channels + 24.0 * s.maps) +
                      28.0 / 16 * double(filter_floats(s));
  work.fewer_products = true;
  work.main().useful = double(s.maps) / double(32 * ceil_div(s.maps, 32));
  // Transforms of filters and results are in fp64.
  work.main().executed = 2.0 * 16 * s.batch * s.groups * double(ceil_div(tiles_of(s), 128) * 128) *
                             double(ceil_div(s.maps, 32) * 32 * ceil_div(s.channels, 16) * 16) +
                         44.0 / 16 * double(filter_floats(s)) + tiles * (32.0 * s.channels + 27.0 * s.maps);
  work.main().count = chunks;
  const double scratch = 4 * double(s.batch) * double(tile_floats(s) + product_floats(s));
  work.add_bytes(scratch);
  return work.add_pass(scratch + 8.0 * double(filter_floats(s)), 2 * chunks + 1);
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext&) {
  return [s = sweep_of(p), bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    auto* filters = static_cast<float*>(a.workspace);
    float* tiles = filters + filter_floats(s);
    const int chunk = chunk_of(s);
    float* products = tiles + chunk * tile_floats(s);
    cuda::winograd_filters(s, a.in<float>(1), filters, cuda::stream_of(a));
    for (int first = 0; first < s.batch; first += chunk)
      cuda::winograd_images(s, first, std::min(chunk, s.batch - first), a.in<float>(0), filters,
                            bias ? a.in<float>(2) : nullptr, a.out<float>(0), tiles, products,
                            cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_winograd() {
  return {.name = "cuda:winograd",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
