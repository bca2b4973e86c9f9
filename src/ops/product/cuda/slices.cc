// "cuda:slices": small fp32 products whose warps share k. What it does is told in ops/cuda/gemm_slices.h.
#include <algorithm>

#include "ops/product/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/gemm_slices.h"
#include "ops/product/cuda/small.h"
#endif

namespace headroom {

using namespace products;

SlicePlan plan_slices(const Product& p) {
  SlicePlan plan;
  plan.blocks = ceil_div(p.m, kSliceTile) * ceil_div(p.n, kSliceTile);
  // Steps of 16 of k: as few one after another as there are warps, but none of them without a step.
  const std::int64_t steps = ceil_div(p.k, 16);
  plan.warps = static_cast<int>(std::clamp<std::int64_t>(ceil_div(steps, 2), 2, kMaxSliceWarps));
  plan.k_per_warp = ceil_div(steps, plan.warps) * 16;
  plan.warps = static_cast<int>(ceil_div(p.k, plan.k_per_warp));
  return plan;
}

namespace {

// Larger products have tiles enough for kernels that read each operand less often.
Verdict accepts(const Product& p, const Target& target) {
  constexpr std::int64_t kMaxDepth = 4096;
  if (p.dtype != DType::f32) return refuse("for fp32 only");
  if (target.device.compute_capability < 80) return refuse("its products need compute capability 8.0");
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  const std::int64_t most = 2 * std::max(1, target.device.multiprocessors), blocks = plan_slices(p).blocks;
  if (blocks > most)
    return refuse(
        fmt::format("for at most {} tiles of {} x {}, not {}", most, kSliceTile, kSliceTile, blocks));
  if (p.k > kMaxDepth) return refuse(fmt::format("for sums of at most {} terms, not {}", kMaxDepth, p.k));
  return accept();
}

// Measured on an H200, against tiles of 64 x 64: 256 x 120 x 400 7.4 us (8.3); 3200 x 64 x 784, with A across
// k or long sums, more.
Verdict pays(const Product& p, const Target& target) {
  constexpr std::int64_t kLongSum = 1024;
  if (p.trans_a) return refuse("its first operand is not contiguous along k: tiles of 64 x 64 are faster");
  if (p.k > kLongSum)
    return refuse(fmt::format("tiles of 64 x 64 are faster for sums of over {} terms", kLongSum));
  if (plan_slices(p).blocks > std::max(1, target.device.multiprocessors))
    return refuse("tiles of 64 x 64 are faster where there are enough of them");
  return accept();
}

Work work(const Product& p, const Target&, Work least) {
  const SlicePlan plan = plan_slices(p);
  least.with(p.tf32 ? "gpu.slices.tf32" : "gpu.slices", Unit::tf32, {p.m, p.n, p.k});
  if (!p.tf32) least.main().flops *= 3;
  least.main().tile = {kSliceTile, kSliceTile, p.k};
  least.main().blocks = plan.blocks;
  // Warps leave their sums in packs of four, which are added up.
  const double once = whole_tile_flops(p, kSliceTile, kSliceTile, 16);
  least.main().executed =
      (p.tf32 ? 1 + split_share(kSliceTile, kSliceTile, 0) : 3 + split_share(kSliceTile, kSliceTile, 1)) *
          once +
      (plan.warps + (p.bias ? 1 : 0)) * double(p.m * round_up(p.n, 4));
  least.main().l2_bytes = 4.0 * double(plan.blocks) * 2 * kSliceTile * double(p.k);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& product, const LaunchContext&) {
  return [p = product, plan = plan_slices(product)](const LaunchArgs& args) {
    cuda::multiply_slices(small_layout(p), plan.warps, {small_product(p, args), plan.k_per_warp},
                          cuda::stream_of(args));
  };
}
#endif

}  // namespace

ProductKernel product_slices() {
  return {.name = "cuda:slices",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .pays = pays};
}

}  // namespace headroom
