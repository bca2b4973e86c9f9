// "cuda:skinny": outputs of few rows or columns, in one pass over the large operand.
#include <algorithm>

#include "ops/product/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/gemm_skinny.h"
#include "ops/cuda/launch.h"
#endif

namespace headroom {

using namespace products;

SkinnyPlan plan_skinny(const Product& p, int multiprocessors) {
  SkinnyPlan plan;
  plan.wide_output = p.m < p.n;
  plan.rows = plan.wide_output ? p.n : p.m;
  plan.columns = plan.wide_output ? p.m : p.n;
  plan.along = plan.wide_output ? p.trans_b : !p.trans_a;
  const std::int64_t units = std::max(1, multiprocessors);
  // Along: a warp takes 4 rows, and a block's 8 warps 32; across: a block takes 128 columns of the operand
  // (64 in fp64), and its 8 warps a share of k each.
  std::int64_t blocks = ceil_div(plan.rows, plan.along ? 32 : p.dtype == DType::f64 ? 64 : 128);
  if (plan.along && blocks < 2 * units && p.k >= 1024) {
    plan.warps_along_k = 8;
    blocks = ceil_div(plan.rows, 4);
  }
  const std::int64_t least_k = plan.along ? 1024 * plan.warps_along_k : 64;
  plan.splits = static_cast<int>(std::clamp<std::int64_t>(units / std::max<std::int64_t>(1, blocks), 1,
                                                          std::clamp<std::int64_t>(p.k / least_k, 1, 64)));
  plan.k_per_split = ceil_div(ceil_div(p.k, plan.splits), 8) * 8;  // whole 16-byte pieces
  plan.splits = static_cast<int>(std::max<std::int64_t>(1, ceil_div(p.k, plan.k_per_split)));
  if (plan.splits > 1)
    plan.workspace = static_cast<std::size_t>(plan.splits * p.m * p.n) * accumulator_bytes(p.dtype);
  return plan;
}

namespace {

std::size_t workspace(const Product& p, const Target& target) {
  return plan_skinny(p, target.device.multiprocessors).workspace;
}

Verdict accepts(const Product& p, const Target&) {
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  const std::int64_t few = std::min(p.m, p.n), many = std::max(p.m, p.n);
  if (few > kMaxSkinny)
    return refuse(fmt::format("for outputs of at most {} rows or columns, not {}", kMaxSkinny, few));
  if (plan_skinny(p, 1).along && !(p.m < p.n ? !p.trans_a : p.trans_b))
    return refuse("one operand is contiguous along k, the other is not");
  // Multiply-adds on ordinary cores: from here on the tensor cores' rate is worth more than one light launch.
  const bool narrow = p.dtype == DType::f16 || p.dtype == DType::bf16 || p.tf32;
  if (narrow && few > 4 && double(many) * double(p.k) > double(1 << 23))
    return refuse("too large: tensor cores are faster");
  return accept();
}

// Threads multiply whole packs of whole rows, and columns that are not there; then lanes, warps and pieces of
// k add up what they have.
double executed_of(const Product& p, const SkinnyPlan& plan) {
  const std::int64_t columns = made_columns(plan.columns), pack = 16 / bytes_of(p.dtype);
  const double ends = (p.bias ? 1 : 0) * outputs_of(p);
  if (!plan.along) {  // tiles of 8 threads with 4 rows each (2 in fp64), 32 of them share k
    const std::int64_t rows = p.dtype == DType::f64 ? 2 : 4, tile = 8 * rows;
    const std::int64_t tiles = ceil_div(plan.rows, tile),
                       pieces = std::min(ceil_div(plan.rows, 4 * tile) * plan.splits / tiles, p.k / 256);
    const double splits = double(std::max<std::int64_t>(1, pieces));
    return double(tiles) *
               (2 * double(tile * columns) * double(p.k) + splits * 256 * 0.75 * double(rows * columns)) +
           9 * splits * outputs_of(p) + ends;
  }
  const std::int64_t blocks = ceil_div(plan.rows, 4), values = 4 * columns;
  const double chunks = double(ceil_div(p.k, 32 * pack));
  const bool few = plan.warps_along_k > 1;  // its 8 warps share k; else a warp has 4 rows, no columns in vain
  const double warps = double(blocks) * (few ? 8 * plan.splits : 1);
  return 2 * double(blocks) * chunks * double(32 * pack * 4 * (few ? columns : plan.columns)) +
         32 * warps * exchanged_sums(values) + (few ? warps * double(values) : 0) +
         (plan.splits > 1 ? plan.splits * outputs_of(p) : 0) + ends;
}

Work work(const Product& p, const Target& target, Work least) {
  const SkinnyPlan plan = plan_skinny(p, target.device.multiprocessors);
  least.with("gpu.skinny", ordinary_unit(p.dtype), {p.m, p.n, p.k});
  least.main().executed = executed_of(p, plan);
  if (plan.splits > 1) least.add_pass(2 * double(plan.workspace));
  return least;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Product& product, const LaunchContext& context) {
  return [p = product,
          plan = plan_skinny(product, context.target.device.multiprocessors)](const LaunchArgs& args) {
    const bool wide = plan.wide_output;
    const void *large = args.inputs[wide ? 1 : 0], *small = args.inputs[wide ? 0 : 1];
    const std::int64_t large_ld = wide ? p.ldb : p.lda, small_ld = wide ? p.lda : p.ldb;
    const bool small_along = wide ? !p.trans_a : p.trans_b;
    const std::int64_t vector = 16 / bytes_of(p.dtype);
    // Along k both are read in packs, across it the large one is.
    const bool whole =
        whole_rows(large, large_ld, 0, p.dtype) &&
        (plan.along ? whole_rows(small, small_ld, 0, p.dtype) && p.k % vector == 0 : plan.rows % vector == 0);
    cuda::skinny(p.dtype,
                 {.large = large,
                  .small = small,
                  .bias = p.bias ? args.inputs[2] : nullptr,
                  .c = args.outputs[0],
                  .partial = plan.splits > 1 ? args.workspace : nullptr,
                  .rows = plan.rows,
                  .columns = plan.columns,
                  .k = p.k,
                  .large_ld = large_ld,
                  .small_row = small_along ? small_ld : 1,
                  .small_k = small_along ? 1 : small_ld,
                  .c_row = wide ? 1 : p.n,
                  .c_column = wide ? p.n : 1,
                  .k_per_split = plan.k_per_split,
                  .splits = plan.splits,
                  .warps_along_k = plan.warps_along_k,
                  .along = plan.along,
                  .bias_by_row = wide,
                  .whole = whole,
                  .finish = p.finish},
                 cuda::stream_of(args));
  };
}
#endif

}  // namespace

ProductKernel product_skinny() {
  return {.name = "cuda:skinny",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace,
          .shares_counter = true};
}

}  // namespace headroom
