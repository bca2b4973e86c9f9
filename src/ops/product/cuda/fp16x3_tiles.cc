// "cuda:fp16x3_tiles": exact fp32 on tensor cores in one pass: each warp splits what it multiplies into two
// scaled parts of fp16 (ops/cuda/fp16x3_math.cuh). No factor is written anew, so that it pays for small
// products, too, and it calls no library.
#include <algorithm>

#include "ops/product/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/product/cuda/tiles.h"
#endif

namespace headroom {
namespace {

using products::ceil_div;

constexpr std::int64_t kDepth = 32;
constexpr std::size_t kMaxPartialBytes = std::size_t{64} << 20;

// Cycles that `blocks` blocks on one multiprocessor need for one step of k each. Three products of fp16 by
// mma.sync at 591 TFLOP/s (measured on an H200 in registers) would take 1230 and 310; a lone block cannot
// hide its latencies.
double cycles_of_step(int tile, double blocks) {
  if (tile == 128) return std::max(2000.0, 1500 * blocks);
  return std::max(700.0, 420 * blocks);
}

}  // namespace

TilePlan plan_fp16x3_tiles(const Product& p, int multiprocessors) {
  const std::int64_t units = std::max(1, multiprocessors), batch = p.most_at_once(),
                     steps = std::max<std::int64_t>(1, ceil_div(p.k, kDepth));
  TilePlan best;
  double least = 0;
  for (const int tile : {128, 64}) {
    const std::int64_t tiles = ceil_div(p.m, tile) * ceil_div(p.n, tile) * batch;
    for (std::int64_t splits = 1; splits <= std::min<std::int64_t>(steps, 32); ++splits) {
      const std::int64_t per_split = ceil_div(steps, splits);
      if (splits > 1 && ceil_div(steps, per_split) != splits) continue;
      const std::size_t workspace =
          splits == 1 ? 0 : static_cast<std::size_t>(4 * splits * batch * p.m * p.n);
      if (splits > 1 && (workspace > kMaxPartialBytes || tiles * splits > 4 * units)) break;
      const double blocks = double(ceil_div(tiles * splits, units));  // on the busiest multiprocessor
      const double cost = cycles_of_step(tile, blocks) * double(per_split) + 1500 +
                          (splits > 1 ? 3500 + 2 * double(workspace) / 2000 : 0);
      if (least != 0 && cost >= least) continue;
      least = cost;
      best = {.tile = tile,
              .splits = static_cast<int>(splits),
              .k_per_split = per_split * kDepth,
              .workspace = workspace};
    }
  }
  return best;
}

namespace {

std::size_t workspace(const Product& p, const Target& target) {
  return plan_fp16x3_tiles(p, target.device.multiprocessors).workspace;
}

Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (p.tf32) return refuse("tf32 is allowed: one product is enough");
  if (target.device.compute_capability < 80)
    return refuse("its tensor-core products need compute capability 8.0");
  return accept();
}

Work work(const Product& p, const Target& target, Work least) {
  const TilePlan plan = plan_fp16x3_tiles(p, target.device.multiprocessors);
  least.with("gpu.fp16x3_tiles", Unit::fp16, {p.m, p.n, p.k});
  KernelLaunch& main = least.main();
  main.tile = {plan.tile, plan.tile, kDepth};
  const std::int64_t rows = ceil_div(p.m, plan.tile), columns = ceil_div(p.n, plan.tile);
  main.blocks = rows * columns * p.most_at_once() * plan.splits;
  main.count = static_cast<int>(p.runs.size());
  if (plan.splits > 1) least.add_pass(2 * double(plan.workspace), main.count);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& product, const LaunchContext& context) {
  const TilePlan plan = plan_fp16x3_tiles(product, context.target.device.multiprocessors);
  return products::tiles_launcher(product, plan,
                                  cuda::fp16x3_tile_kernel(plan.tile, !product.trans_a, product.trans_b));
}
#endif

}  // namespace

ProductKernel product_fp16x3_tiles() {
  return {.name = "cuda:fp16x3_tiles",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
