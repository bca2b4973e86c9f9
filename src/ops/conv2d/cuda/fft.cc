// The convolution through Fourier transforms: tiles of images and filters are transformed, multiplied
// frequency by frequency, summed over channels, and transformed back. The number of products does not depend
// on the size of the window.
#include "ops/conv2d/cuda/fft.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "ops/conv2d/cuda/rungs.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// fft.cu. `filters`: [map][channel][frequency], two floats each.
void fft_filters(const Sweep& s, const FftPlan& plan, const float* w, float* filters, cudaStream_t stream);
// y of `count` tiles, counted over all images, from `first` on; `tiles` and `products` are scratch of
// [channel or map][tile][frequency].
void fft_tiles(const Sweep& s, const FftPlan& plan, std::int64_t first, int count, const float* x,
               const float* filters, const float* bias, float* y, float* tiles, float* products,
               cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::FftPlan;
using cuda::Sweep;

constexpr int kLargestSide = 128;  // of a transform in the shared memory of one block
constexpr std::int64_t kSpectraBytes = 256LL << 20;

// Pixels that a window spans, dilation included.
int reach(int kernel, int step) { return (kernel - 1) * std::abs(step) + 1; }

FftPlan plan_of_side(const Sweep& s, int side) {
  FftPlan plan{.side = side};
  plan.rows = side - reach(s.kernel_h, s.step_h) + 1;
  plan.columns = side - reach(s.kernel_w, s.step_w) + 1;
  plan.down = static_cast<int>(ceil_div(s.out_h, plan.rows));
  plan.across = static_cast<int>(ceil_div(s.out_w, plan.columns));
  plan.top = s.off_h + std::min(0, (s.kernel_h - 1) * s.step_h);
  plan.left = s.off_w + std::min(0, (s.kernel_w - 1) * s.step_w);
  return plan;
}

double tiles_of(const Sweep& s, const FftPlan& plan) { return double(s.batch) * plan.tiles(); }

// A transform of n complex numbers takes 5 n log2 n; each serves two real planes.
double transform_flops(const Sweep& s, const FftPlan& plan) {
  const double one = 10.0 * plan.side * plan.side * (std::bit_width(unsigned(plan.side)) - 1);
  const double pairs = double(ceil_div(s.channels, 2)), back = double(ceil_div(s.maps, 2));
  return one * (tiles_of(s, plan) * (pairs + back) + s.maps * pairs);
}
double product_flops(const Sweep& s, const FftPlan& plan) {
  return 8.0 * plan.frequencies() * s.channels * s.maps * tiles_of(s, plan);
}

// The side with the least arithmetic: large tiles waste less at their edges, small ones fit small images.
FftPlan plan_fft(const Sweep& s) {
  FftPlan best;
  double least = 0;
  for (int side = 8; side <= kLargestSide; side *= 2) {
    if (side < std::max(reach(s.kernel_h, s.step_h), reach(s.kernel_w, s.step_w))) continue;
    const FftPlan plan = plan_of_side(s, side);
    const double flops = transform_flops(s, plan) + product_flops(s, plan);
    if (best.side == 0 || flops < least) best = plan, least = flops;
  }
  return best;
}

// Floats, two for each frequency.
std::int64_t filter_floats(const Sweep& s, const FftPlan& plan) {
  return std::int64_t{2} * plan.frequencies() * s.maps * s.channels;
}
std::int64_t tile_floats(const Sweep& s, const FftPlan& plan) {
  return std::int64_t{2} * plan.frequencies() * (s.channels + s.maps);
}

int chunk_of(const Sweep& s, const FftPlan& plan) {
  const std::int64_t fitting = kSpectraBytes / (4 * tile_floats(s, plan));
  return static_cast<int>(
      std::clamp<std::int64_t>(fitting, 1, std::max<std::int64_t>(1, std::int64_t{s.batch} * plan.tiles())));
}

std::size_t workspace(const Problem& p, const Target&) {
  const Sweep s = sweep_of(p);
  const FftPlan plan = plan_fft(s);
  return 4 * static_cast<std::size_t>(filter_floats(s, plan) + chunk_of(s, plan) * tile_floats(s, plan));
}

Verdict accepts(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  if (Verdict v = accepts_rung(p, s); !v.ok) return v;
  if (is_weight_gradient(p)) return refuse("the transform of outputs: weights need another one");
  if (s.groups != 1) return refuse("grouped");
  if (s.mul_h != 1 || s.mul_w != 1 || s.div_h != 1 || s.div_w != 1) return refuse("needs stride 1");
  const FftPlan plan = plan_fft(s);
  if (plan.side == 0)
    return refuse(
        fmt::format("a window that spans more than {} pixels: larger transforms do not fit into "
                    "shared memory",
                    kLargestSide));
  if (plan.shared_bytes() > shared_bytes(target))
    return refuse(fmt::format("a transform of {0} x {0} does not fit into shared memory", plan.side));
  if (target.device.memory_bytes != 0 && workspace(p, target) > target.device.memory_bytes / 8)
    return refuse("its transformed filters and tiles take more than an eighth of the device's memory");
  return accept();
}

Work work(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  const FftPlan plan = plan_fft(s);
  const std::int64_t all = std::int64_t{s.batch} * plan.tiles(), chunk = chunk_of(s, plan);
  const std::int64_t threads = ceil_div(all, cuda::kFftTiles) * plan.frequencies(),
                     maps = ceil_div(s.maps, cuda::kFftMaps);
  Work work = rung_work(p, target, "gpu.conv.fft", ceil_div(threads, cuda::kFftThreads) * maps,
                        8.0 * double(threads * maps) * s.channels * (cuda::kFftMaps + cuda::kFftTiles),
                        {cuda::kFftMaps, cuda::kFftTiles, 1});
  const int chunks = static_cast<int>(ceil_div(all, chunk));
  work.main().flops = transform_flops(s, plan) + product_flops(s, plan);
  work.fewer_products = true;
  work.main().useful = double(s.maps) / double(cuda::kFftMaps * maps);
  // Pairs of planes share a transform, and are told apart by additions.
  const double pairs = double(ceil_div(s.channels, 2)), back = double(ceil_div(s.maps, 2));
  work.main().executed = transform_flops(s, plan) +
                         8.0 * double(threads * maps) * cuda::kFftMaps * cuda::kFftTiles * s.channels +
                         plan.frequencies() * (8 * pairs * double(all + s.maps) + 4 * back * double(all));
  work.main().count = chunks;
  // Spectra are written once and read once, half of that by the products.
  const double spectra = 4 * double(all) * double(tile_floats(s, plan));
  work.add_bytes(spectra);
  return work.add_pass(spectra + 8.0 * double(filter_floats(s, plan)), 2 * chunks + 1);
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext&) {
  const Sweep sweep = sweep_of(p);
  return [s = sweep, plan = plan_fft(sweep), bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    const std::int64_t all = std::int64_t{s.batch} * plan.tiles(), chunk = chunk_of(s, plan);
    auto* filters = static_cast<float*>(a.workspace);
    float* tiles = filters + filter_floats(s, plan);
    float* products = tiles + chunk * 2 * plan.frequencies() * s.channels;
    cuda::fft_filters(s, plan, a.in<float>(1), filters, cuda::stream_of(a));
    for (std::int64_t first = 0; first < all; first += chunk)
      cuda::fft_tiles(s, plan, first, static_cast<int>(std::min(chunk, all - first)), a.in<float>(0), filters,
                      bias ? a.in<float>(2) : nullptr, a.out<float>(0), tiles, products, cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_fft() {
  return {.name = "cuda:fft",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
