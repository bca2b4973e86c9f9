// "cuda:clusters": small fp32 products whose blocks share k. What it does is told in
// ops/cuda/gemm_clusters.h.
#include <algorithm>

#include "ops/product/cuda/tile_sectors.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/gemm_clusters.h"
#include "ops/product/cuda/small.h"
#endif

namespace headroom {

using namespace products;

// A cluster lies within a group of multiprocessors that share their way to memory, of 16 at least on Hopper.
ClusterPlan plan_clusters(const Product& p, int multiprocessors) {
  constexpr int kGroup = 16;
  constexpr double kLaunch = 4.4, kStep = 0.9;  // microseconds, measured on an H200: see pays
  const std::int64_t steps = std::max<std::int64_t>(1, ceil_div(p.k, kClusterDepth));
  const int units = std::max(kGroup, multiprocessors);
  ClusterPlan best;
  best.tiles = ceil_div(p.m, kClusterTile) * ceil_div(p.n, kClusterTile);
  for (int blocks = 1; blocks <= std::min<std::int64_t>(steps, kMaxCluster); ++blocks) {
    const std::int64_t per_block = ceil_div(steps, blocks);
    if (ceil_div(steps, per_block) != blocks) continue;  // one of them would have nothing to do
    if (blocks > 1 && best.tiles >= units) break;        // there are enough tiles
    const std::int64_t at_once = blocks == 1 ? units : units / kGroup * (kGroup / blocks);
    const double us = kLaunch + kStep * double(ceil_div(best.tiles, at_once) * per_block);
    if (best.us != 0 && us >= best.us) continue;
    best.us = us;
    best.blocks = blocks;
    best.k_per_block = per_block * kClusterDepth;
    best.stages = static_cast<int>(std::min<std::int64_t>(per_block, kMaxClusterStages));
  }
  return best;
}

namespace {

Verdict accepts(const Product& p, const Target& target) {
  constexpr int kHopper = 90;
  constexpr std::int64_t kMaxTiles = 1 << 24;
  if (p.dtype != DType::f32) return refuse("for fp32 only");
  if (target.device.compute_capability != kHopper)
    return refuse("its code is for Hopper, compute capability 9.0");
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  if (plan_clusters(p, target.device.multiprocessors).tiles > kMaxTiles) return refuse("too many tiles");
  return accept();
}

// What "cuda:tiles" takes: tiles of 64 x 64 of three tf32 products, and a launch that adds up splits of k.
double tiles_us(const Product& p, int multiprocessors) {
  constexpr double kLaunch = 4.7, kStep = 0.95, kLargeStep = 2.2, kSecondLaunch = 2.3;
  const TilePlan plan = plan_tiles(p, multiprocessors);
  const std::int64_t blocks = ceil_div(p.m, plan.tile) * ceil_div(p.n, plan.tile) * plan.splits;
  const std::int64_t deep = ceil_div(blocks, std::max(1, multiprocessors));
  return kLaunch +
         (plan.tile > kClusterTile ? kLargeStep : kStep) * double(deep * plan.k_per_split / kClusterDepth) +
         (plan.splits > 1 ? kSecondLaunch : 0);
}

// Measured on an H200, in training steps of mlp and lenet5, by this and by "cuda:tiles" (both launches), in
// us: 100 x 784 x 800 10.98 and 11.23, 64 x 784 x 3200 16.83 and 17.28, 200 x 784 x 256 8.16 and 12.19, 1000
// x 784 x 128 10.27 and 11.33, 84 x 120 x 256 5.23 and 7.50. With a first operand along k it lost: 800 x 100
// x 784 10.37, by "cuda:slices" 9.10; 3200 x 64 x 784 15.90, by tiles 15.04.
Verdict pays(const Product& p, const Target& target) {
  const int units = target.device.multiprocessors;
  if (p.tf32) return refuse("tf32 is allowed: the library's one product is faster");
  if (!p.trans_a)
    return refuse("its first operand is contiguous along k: \"cuda:slices\" or tiles of 64 x 64 are faster");
  if (plan_clusters(p, units).us > tiles_us(p, units)) return refuse("tiles of 64 x 64 are faster");
  return accept();
}

Work work(const Product& p, const Target& target, Work least) {
  const ClusterPlan plan = plan_clusters(p, target.device.multiprocessors);
  least.with(p.tf32 ? "gpu.clusters.tf32" : "gpu.clusters", Unit::tf32, {p.m, p.n, p.k});
  if (!p.tf32) least.main().flops *= 3;
  least.main().tile = {kClusterTile, kClusterTile, plan.k_per_block};
  least.main().blocks = plan.tiles * plan.blocks;
  // Two groups of warps leave their sums in a tile, whose blocks then add theirs up.
  const double once = whole_tile_flops(p, kClusterTile, kClusterTile, kClusterDepth),
               left = 2.0 * double(plan.tiles * plan.blocks) * kClusterTile * kClusterTile;
  least.main().executed = (p.tf32 ? 1 : 3 + split_share(32, 32, 1)) * once + left +
                          (plan.blocks - (p.bias ? 0 : 1)) * double(p.m * round_up(p.n, 4));
  least.main().l2_bytes = least.main().bytes +
                          more_for_factors(p, {kClusterTile, kClusterTile, kClusterDepth}) +
                          more_for_results(p, kClusterTile);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& product, const LaunchContext& context) {
  const ClusterPlan plan = plan_clusters(product, context.target.device.multiprocessors);
  return [p = product, plan](const LaunchArgs& args) {
    cuda::multiply_clusters(small_layout(p),
                            {small_product(p, args), plan.k_per_block, plan.blocks, plan.stages},
                            cuda::stream_of(args));
  };
}
#endif

}  // namespace

ProductKernel product_clusters() {
  return {.name = "cuda:clusters",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .pays = pays};
}

}  // namespace headroom
