// "cuda:fp64_tiles": fp64 on the tensor cores in tiles of 128 x 128. Tiles of 64 x 64, as "cuda:tiles" has
// them, read 32 bytes of L2 for each cycle of the tensor cores of a multiprocessor, which is all that L2 has
// for them; these read 16. ops/cuda/gemm_tiles_fp64.cuh has the kernel, and the count of what its warps load.
#include <algorithm>

#include "ops/product/cuda/tile_sectors.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/product/cuda/tiles.h"
#endif

namespace headroom {
namespace {

constexpr int kTile = 128, kDepth = 16;

}  // namespace

// Sums are cut where most multiprocessors would have no tile, into pieces of some length.
TilePlan plan_fp64_tiles(const Product& p, int multiprocessors) {
  using products::ceil_div;
  constexpr std::int64_t kLeastSteps = 8, kMaxSplits = 16, kMaxPartials = std::int64_t{64} << 20;
  const std::int64_t batch = p.most_at_once(), tiles = ceil_div(p.m, kTile) * ceil_div(p.n, kTile) * batch,
                     steps = std::max<std::int64_t>(1, ceil_div(p.k, kDepth)), output = 8 * batch * p.m * p.n;
  const std::int64_t wanted = std::min({std::int64_t{std::max(1, multiprocessors)} / tiles,
                                        steps / kLeastSteps, kMaxSplits, kMaxPartials / output});
  const std::int64_t per_split = ceil_div(steps, std::max<std::int64_t>(1, wanted)),
                     splits = ceil_div(steps, per_split);
  return {.tile = kTile,
          .splits = static_cast<int>(splits),
          .k_per_split = per_split * kDepth,
          .workspace = splits == 1 ? 0 : static_cast<std::size_t>(splits * output)};
}

namespace {

std::size_t workspace(const Product& p, const Target& target) {
  return plan_fp64_tiles(p, target.device.multiprocessors).workspace;
}

Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype != DType::f64) return refuse("for fp64 only");
  if (target.device.compute_capability < 80)
    return refuse("its tensor-core products need compute capability 8.0");
  return accept();
}

Work work(const Product& p, const Target& target, Work least) {
  const TilePlan plan = plan_fp64_tiles(p, target.device.multiprocessors);
  least.with("gpu.fp64_tiles", Unit::fp64_tensor, {p.m, p.n, p.k});
  KernelLaunch& main = least.main();
  main.tile = {plan.tile, plan.tile, kDepth};
  main.blocks =
      products::ceil_div(p.m, kTile) * products::ceil_div(p.n, kTile) * p.most_at_once() * plan.splits;
  main.count = static_cast<int>(p.runs.size());
  products::count_tile_sectors(least, p, plan, kDepth, false);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& product, const LaunchContext& context) {
  return products::tiles_launcher(product, plan_fp64_tiles(product, context.target.device.multiprocessors),
                                  cuda::fp64_wide_kernel(!product.trans_a, product.trans_b));
}
#endif

}  // namespace

ProductKernel product_fp64_tiles() {
  return {.name = "cuda:fp64_tiles",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
