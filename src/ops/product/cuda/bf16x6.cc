// "cuda:bf16x6": exact fp32 in the tiles of "cuda:tiles", with every factor in three parts of bf16 and six
// products of parts. bf16 has the exponents of fp32, so nothing is scaled and no value is too small or too
// large; fp16 parts do with three products, but must know the largest value first.
#include <utility>

#include "ops/product/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/product/cuda/tiles.h"
#endif

namespace headroom {
namespace {

Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (p.tf32) return refuse("tf32 is allowed: one product is enough");
  return product_tiles().accepts(p, target);
}

// The same launches as by two parts of tf32: six products at twice the rate.
Work work(const Product& p, const Target& target, Work least) {
  Work work = product_tiles().work(p, target, std::move(least));
  work.main().family = "gpu.tiles.bf16x6", work.main().unit = Unit::bf16;
  work.main().executed = products::executed_in_tiles(p, plan_tiles(p, target.device.multiprocessors),
                                                     {.products = 6, .splits = 2});
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& product, const LaunchContext& context) {
  const TilePlan plan = plan_tiles(product, context.target.device.multiprocessors);
  return products::tiles_launcher(product, plan,
                                  cuda::bf16x6_kernel(plan.tile, !product.trans_a, product.trans_b));
}
#endif

}  // namespace

ProductKernel product_bf16x6() {
  ProductKernel kernel = product_tiles();
  kernel.name = "cuda:bf16x6";
  kernel.accepts = accepts;
  kernel.work = work;
  kernel.prepare = HEADROOM_CUDA(prepare);
  return kernel;
}

}  // namespace headroom
