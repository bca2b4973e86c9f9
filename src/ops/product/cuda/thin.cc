// "cuda:thin": products with few columns in one launch of clusters. What it does is told in
// ops/cuda/gemm_thin.h.
#include <algorithm>

#include "ops/product/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/gemm_thin.h"
#include "ops/cuda/launch.h"
#endif

namespace headroom {

using namespace products;

// The costs are cycles, estimated: what matters is when to share k, not the sum. A multiprocessor reads some
// 40 bytes a cycle from L2, and multiplies while nothing is under way; a barrier of a cluster takes 0.23 us.
ThinPlan plan_thin(const Product& p, int multiprocessors) {
  constexpr double kBytesPerCycle = 40, kMeeting = 450;
  ThinPlan best{.wide_output = p.m < p.n};
  const std::int64_t rows = std::max(p.m, p.n), columns = std::min(p.m, p.n);
  // One round of blocks, and of loads: as little as there can be.
  for (const int rows_of_block : {4, 8}) {
    constexpr std::int64_t kMaxDepth = 4096;
    const std::int64_t blocks = ceil_div(rows, rows_of_block);
    if (p.k > kMaxDepth || blocks > std::max(1, multiprocessors) || (rows_of_block > 4 && columns > 12))
      continue;
    best.warps_share_k = true, best.rows = rows_of_block, best.blocks = blocks;
    best.k_per_split = ceil_div(ceil_div(p.k, kThinBlockWarps), 4) * 4;
    return best;
  }
  double least = 0;
  for (const int rows_of_warp : {4, 3, 2, 1})
    for (const int splits : {1, 2, 4, 8}) {
      const std::int64_t depth = ceil_div(ceil_div(p.k, splits), 4) * 4;
      if (splits > 1 && depth < 64) continue;
      const std::int64_t per_block = kThinBlockWarps * rows_of_warp,
                         blocks = ceil_div(rows, per_block) * splits;
      const double reading = 4 * double(per_block + columns) * double(depth) / kBytesPerCycle;
      const double products = double(per_block * columns) * double(depth) / 128,
                   columns_read = 4 * double(kThinBlockWarps * columns) * double(depth) / 128;
      const double cost = double(ceil_div(blocks, std::max(1, multiprocessors))) *
                              (reading + std::max(products, columns_read)) +
                          (splits > 1 ? kMeeting : 0);
      if (least != 0 && cost >= least) continue;
      least = cost;
      best.rows = rows_of_warp, best.splits = splits, best.k_per_split = depth, best.blocks = blocks;
    }
  return best;
}

namespace {

Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype != DType::f32) return refuse("for fp32 only");
  if (target.device.compute_capability < 90) return refuse("clusters of blocks need compute capability 9.0");
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  const std::int64_t few = std::min(p.m, p.n);
  if (few > kMaxSkinny)
    return refuse(fmt::format("for outputs of at most {} rows or columns, not {}", kMaxSkinny, few));
  if (!(p.m < p.n ? p.trans_b : !p.trans_a)) return refuse("the large operand is not contiguous along k");
  if (plan_thin(p, target.device.multiprocessors).blocks >= std::int64_t{1} << 31)
    return refuse("more blocks than one launch has");
  return accept();
}

// Measured on an H200: 800 x 10 x 1000 takes 4.5 us, by three tf32 products 9.6. The other form is left to
// users: 3000 x 10 x 512 takes 7.9 us (11.7), larger ones were not measured.
Verdict pays(const Product& p, const Target& target) {
  if (!plan_thin(p, target.device.multiprocessors).warps_share_k)
    return refuse("for fewer rows and shorter sums");
  return accept();
}

// Warps read k in chunks of all lanes, and past its end zeros; then lanes add up their sums, and warps or the
// blocks of a cluster theirs.
double executed_of(const Product& p, const ThinPlan& plan) {
  const std::int64_t rows = std::max(p.m, p.n), columns = std::min(p.m, p.n);
  const std::int64_t chunk = plan.warps_share_k ? 128 : 256,
                     sharing = plan.warps_share_k ? kThinBlockWarps : plan.splits,
                     warps = plan.warps_share_k ? plan.blocks * kThinBlockWarps
                                                : ceil_div(rows, plan.rows) * plan.splits;
  const std::int64_t values = plan.rows * made_columns(columns);
  double chunks = 0;  // of all that share k
  for (std::int64_t i = 0; i < sharing; ++i)
    chunks +=
        double(ceil_div(std::clamp<std::int64_t>(p.k - i * plan.k_per_split, 0, plan.k_per_split), chunk));
  return 2.0 * double(warps) / double(sharing) * chunks * double(chunk * plan.rows * columns) +
         32.0 * double(warps) * exchanged_sums(values) + double(warps * values) +
         (p.bias ? outputs_of(p) : 0);
}

Work work(const Product& p, const Target& target, Work least) {
  const ThinPlan plan = plan_thin(p, target.device.multiprocessors);
  least.with("gpu.thin", Unit::fp32, {p.m, p.n, p.k});
  least.main().tile = {(plan.warps_share_k ? 1 : kThinBlockWarps) * plan.rows, std::min(p.m, p.n),
                       plan.warps_share_k ? p.k : plan.k_per_split};
  least.main().blocks = plan.blocks;
  least.main().executed = executed_of(p, plan);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& product, const LaunchContext& context) {
  return [p = product,
          plan = plan_thin(product, context.target.device.multiprocessors)](const LaunchArgs& args) {
    const bool wide = plan.wide_output;
    const ProductRun& run = p.runs[0];
    const void *a = at(args.inputs[0], run.a, p.dtype), *b = at(args.inputs[1], run.b, p.dtype);
    const std::int64_t large_ld = wide ? p.ldb : p.lda, small_ld = wide ? p.lda : p.ldb;
    const bool small_along = wide ? !p.trans_a : p.trans_b;
    const auto launch = plan.warps_share_k ? cuda::thin_in_slices : cuda::thin;
    launch(plan.rows,
           {.large = wide ? b : a,
            .small = wide ? a : b,
            .bias = p.bias ? args.inputs[2] : nullptr,
            .c = at(args.outputs[0], run.c, p.dtype),
            .partial = nullptr,
            .rows = std::max(p.m, p.n),
            .columns = std::min(p.m, p.n),
            .k = p.k,
            .large_ld = large_ld,
            .small_row = small_along ? small_ld : 1,
            .small_k = small_along ? 1 : small_ld,
            .c_row = wide ? 1 : p.ldc,
            .c_column = wide ? p.ldc : 1,
            .k_per_split = plan.k_per_split,
            .splits = plan.splits,
            .warps_along_k = 1,
            .along = true,
            .bias_by_row = wide,
            .whole = whole_rows(wide ? b : a, large_ld, 0, p.dtype) && p.k % 4 == 0,
            .finish = p.finish},
           cuda::stream_of(args));
  };
}
#endif

}  // namespace

ProductKernel product_thin() {
  return {
      .name = "cuda:thin", .accepts = accepts, .work = work, .prepare = HEADROOM_CUDA(prepare), .pays = pays};
}

}  // namespace headroom
