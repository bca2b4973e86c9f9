// One thread for each output; a block first copies what its windows see of a channel to shared memory.
#include <algorithm>
#include <cstdlib>

#include "base/error.h"
#include "ops/conv2d/cuda/rungs.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// shared_tiles.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes.
void conv2d_shared_tiles(int block, const Sweep& s, const float* x, const float* w, const float* bias,
                         float* y, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::Sweep;

// The tile and the window of one channel.
std::int64_t tile_bytes(const Sweep& s, int block) {
  const auto extent = [block](int mul, int kernel, int step) {
    return std::int64_t{block - 1} * mul + std::int64_t{kernel - 1} * std::abs(step) + 1;
  };
  return 4 * (extent(s.mul_h, s.kernel_h, s.step_h) * extent(s.mul_w, s.kernel_w, s.step_w) + s.taps());
}

constexpr std::int64_t kSharedBytes = 48 * 1024;  // what every GPU gives a block without being asked

Verdict accepts(const Problem& p, const Target&) {
  const Sweep s = sweep_of(p);
  if (Verdict v = accepts_rung(p, s); !v.ok) return v;
  if (is_weight_gradient(p)) return refuse("an idea for filters: there are none to read");
  if (s.div_h != 1 || s.div_w != 1) return refuse("input gradient of a strided window");
  if (tile_bytes(s, 16) > kSharedBytes) return refuse("a tile exceeds the 48 KB of shared memory of a block");
  if (plane_tiles(s, 8) > 65535) return refuse("more tiles than a grid has in its third dimension");
  return accept();
}

Work work(const Problem& p, const Target& target) {
  const Sweep s = sweep_of(p);
  const std::int64_t blocks = std::int64_t{s.batch} * s.groups * s.maps * plane_tiles(s, 16);
  Work work = rung_work(p, target, "gpu.conv.shared_tiles", blocks, double(blocks) * seen_bytes(s, 16, 16),
                        {256, 1, s.taps()});
  // Padding is in the tile as zeros.
  *work.main().executed += 2 * (256.0 * double(blocks) * s.depth() - products_inside(s));
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext& context) {
  const Sweep s = sweep_of(p);
  const RungShape shape = parse_rung_shape("cuda:shared_tiles", context.variant, s, {1});
  if (tile_bytes(s, shape.block) > kSharedBytes)
    reject(Hint{"smaller blocks"},
           "kernel 'cuda:shared_tiles' refuses blocks of {} x {}: a tile takes {} bytes of the 49,152",
           shape.block, shape.block, tile_bytes(s, shape.block));
  return [s, shape, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_shared_tiles(shape.block, s, a.in<float>(0), a.in<float>(1), bias ? a.in<float>(2) : nullptr,
                              a.out<float>(0), cuda::stream_of(a));
  };
}
#endif

std::vector<std::string> candidates(const Problem& p, const Target&) {
  const bool large = tile_bytes(sweep_of(p), 32) <= kSharedBytes;
  return large ? rung_shapes({16, 8, 32}, {1}) : rung_shapes({16, 8}, {1});
}

}  // namespace

Kernel conv2d_cuda_shared_tiles() {
  return {.name = "cuda:shared_tiles",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .candidates = candidates};
}

}  // namespace headroom
