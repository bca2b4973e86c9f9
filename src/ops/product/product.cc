#include "ops/product/product.h"

#include <algorithm>

#include "ops/product/kernels.h"

namespace headroom {
namespace {

constexpr std::int64_t kMaxPerRun = 16384;  // a grid's third dimension ends at 65535, and splits share it
constexpr std::size_t kMaxPartials = std::size_t{64} << 20;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::size_t accumulator_bytes(DType dtype) { return dtype == DType::f64 ? 8 : 4; }
int depth_of(DType dtype) { return dtype == DType::f64 ? 16 : dtype == DType::f32 ? 32 : 64; }

}  // namespace

std::int64_t Product::most_at_once() const {
  std::int64_t most = 0;
  for (const ProductRun& run : runs) most = std::max(most, run.count);
  return most;
}

std::vector<ProductRun> runs_of(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b,
                                std::int64_t c_elements) {
  std::vector<ProductRun> runs;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!runs.empty()) {
      ProductRun& last = runs.back();
      if (last.count == 1) last.stride_a = a[i] - last.a, last.stride_b = b[i] - last.b;
      if (last.count < kMaxPerRun && a[i] == last.a + last.count * last.stride_a &&
          b[i] == last.b + last.count * last.stride_b && last.stride_a >= 0 && last.stride_b >= 0) {
        ++last.count;
        continue;
      }
    }
    runs.push_back(
        {.a = a[i], .b = b[i], .c = static_cast<std::int64_t>(i) * c_elements, .stride_c = c_elements});
  }
  for (ProductRun& run : runs)
    if (run.count == 1) run.stride_a = run.stride_b = run.stride_c = 0;
  return runs;
}

// The costs are cycles of one multiprocessor, estimated from the rate of the tensor cores for fp32 in three
// tf32 products: what matters is when to take the smaller tile and when to split, not the sum.
TilePlan plan_tiles(const Product& p, int multiprocessors) {
  const double units = std::max(1, multiprocessors);
  const std::int64_t batch = p.most_at_once(), depth = depth_of(p.dtype),
                     steps = std::max<std::int64_t>(1, ceil_div(p.k, depth));
  TilePlan best;
  double least = 0;
  for (const int tile : {128, 64}) {
    if (tile == 128 && (p.dtype != DType::f32 || p.tf32)) continue;  // made where no library is faster
    const std::int64_t tiles = ceil_div(p.m, tile) * ceil_div(p.n, tile) * batch;
    for (int splits = 1; splits <= std::min<std::int64_t>(steps, 32); ++splits) {
      const std::int64_t per_split = ceil_div(steps, splits);
      if (splits > 1 && ceil_div(steps, per_split) != splits) continue;
      const std::size_t workspace =
          splits == 1 ? 0 : static_cast<std::size_t>(splits * batch * p.m * p.n) * accumulator_bytes(p.dtype);
      if (splits > 1 && (workspace > kMaxPartials || tiles * splits > 4 * std::int64_t(units))) break;
      const double deep = double(ceil_div(tiles * splits, std::int64_t(units)));  // blocks of the busiest
      // A lone block of 4 warps cannot hide its own latencies.
      const double per_step = tile == 128 ? 2500 * deep : deep == 1 ? 1100 : 750 * deep;
      const double cost =
          per_step * double(per_split) + 1500 + (splits > 1 ? 3500 + 2 * double(workspace) / 2000 : 0);
      if (least != 0 && cost >= least) continue;
      least = cost;
      best = {.tile = tile, .splits = splits, .k_per_split = per_split * depth, .workspace = workspace};
    }
  }
  return best;
}

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

std::size_t skinny_workspace(const Product& p, const Target& target) {
  return plan_skinny(p, target.device.multiprocessors).workspace;
}

std::size_t tiles_workspace(const Product& p, const Target& target) {
  return plan_tiles(p, target.device.multiprocessors).workspace;
}

std::size_t cublaslt_workspace(const Product& p, const Target&) {
  // 32 MiB is what NVIDIA recommends on Hopper; a small product is never cut into so many pieces.
  constexpr std::size_t kMax = std::size_t{32} << 20, kPieces = 32;
  const auto output = static_cast<std::size_t>(p.most_at_once() * p.m * p.n) * accumulator_bytes(p.dtype);
  return std::min(kMax, kPieces * output + (std::size_t{64} << 10));
}

Verdict accepts_skinny(const Product& p, const Target&) {
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

Verdict accepts_tiles(const Product&, const Target& target) {
  if (target.device.compute_capability < 80)
    return refuse("its tensor-core products need compute capability 8.0");
  return accept();
}

// cuBLAS computes exact fp32 on ordinary cores; this on tensor cores, each factor in two parts. Measured on
// an H200: 64x784x3200 took 500 us by the library, where the whole training step took 82 us with this;
// 1000x17496x160 took 156 us by the library and 217 by this.
Verdict accepts_tf32x3(const Product& p, const Target& target) {
  constexpr double kMax = 1e9;  // products and sums
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (p.tf32) return refuse("tf32 is allowed: one product is enough");
  if (target.device.cublaslt && double(p.m) * double(p.n) * double(p.k) * double(p.most_at_once()) > kMax)
    return refuse("too large: cuBLAS's ordinary arithmetic is faster");
  return accepts_tiles(p, target);
}

Verdict accepts_cublaslt(const Product&, const Target& target) {
  if (!target.device.cublaslt) return refuse("cuBLASLt could not be loaded");
  return accept();
}

Work skinny_work(const Product& p, const Target& target, Work least) {
  const SkinnyPlan plan = plan_skinny(p, target.device.multiprocessors);
  least.with("gpu.skinny", ordinary_unit(p.dtype), {p.m, p.n, p.k});
  if (plan.splits > 1) least.add_pass(2 * double(plan.workspace));
  return least;
}

Work tiles_work(const Product& p, const Target& target, Work least) {
  const TilePlan plan = plan_tiles(p, target.device.multiprocessors);
  const bool split = p.dtype == DType::f32 && !p.tf32;  // three products of tf32 for one of fp32
  least.with(p.dtype == DType::f64 ? "gpu.tiles.fp64"
             : split               ? "gpu.tiles.fp32"
                                   : "gpu.tiles.16bit",
             split ? Unit::tf32 : tensor_unit(p.dtype, p.tf32), {p.m, p.n, p.k});
  KernelLaunch& main = least.main();
  main.tile = {plan.tile, plan.tile, depth_of(p.dtype)};
  main.blocks = ceil_div(p.m, plan.tile) * ceil_div(p.n, plan.tile) * p.most_at_once() * plan.splits;
  main.count = static_cast<int>(p.runs.size());
  if (plan.splits > 1) least.add_pass(2 * double(plan.workspace), main.count);
  return least;
}

Work cublaslt_work(const Product& p, const Target&, Work least) {
  least.with(p.dtype == DType::f32   ? (p.tf32 ? "cublaslt.tf32" : "cublaslt.fp32")
             : p.dtype == DType::f64 ? "cublaslt.fp64"
                                     : "cublaslt.16bit",
             tensor_unit(p.dtype, p.tf32), {p.m, p.n, p.k});
  least.main().count = static_cast<int>(p.runs.size());
  if (p.finish == Activation::sigmoid || p.finish == Activation::tanh)
    least.add_pass(2 * double(p.m) * double(p.n) * double(size_of(p.dtype)));
  return least;
}

}  // namespace headroom
