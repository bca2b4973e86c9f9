// The kernels of fp16_parts and parts_product, in order.
#include "ops/product/kernels.h"
#include "ops/fp16_parts/fp16_parts.h"
#include "ops/product/cuda/tile_sectors.h"
#include "ops/product/wgmma.h"

namespace headroom {
namespace fp16_parts_kernels_cc {
namespace {

std::int64_t elements_of(const Problem& problem) {
  std::int64_t all = 0;
  for (const TensorType& x : problem.inputs) all += x.shape.numel();
  return all;
}

Verdict needs_hopper(std::int64_t m, std::int64_t n, std::int64_t k, const Target& target) {
  const Product product{.m = m, .n = n, .k = k};
  std::string reason = no_wgmma(product, target.device.compute_capability);
  return reason.empty() ? accept() : refuse(std::move(reason));
}

Verdict accepts_parts(const Problem& problem, const Target& target) {
  for (const TensorType& x : problem.inputs)
    if (x.dtype != DType::f32) return refuse("splits only fp32");
  for (const PartsProblem& p : parts_problems(problem))
    if (Verdict v = needs_hopper(p.rows, p.columns, 1, target); !v.ok) return v;
  return accept();
}

Verdict accepts_product(const Problem& problem, const Target& target) {
  if (problem.inputs[0].dtype != DType::f16 || problem.inputs[2].dtype != DType::f16)
    return refuse("takes parts of fp16");
  const PartsProduct p = parts_product(problem.inputs, problem.attrs);
  return needs_hopper(p.m, p.n, p.k, target);
}

std::size_t workspace_parts(const Problem& problem, const Target& target) {
  const std::int64_t blocks = parts_blocks(elements_of(problem), target.device.multiprocessors);
  return static_cast<std::size_t>(8 * blocks) * problem.inputs.size();
}

// The matrices are read twice: for their largest values, and for their parts.
Work work_parts(const Problem& problem, const Target& target) {
  Work work = least_work(problem, target);
  work.with("gpu.fp16_parts", Unit::fp32).add_bytes(4.0 * double(elements_of(problem)));
  work.main().blocks = parts_blocks(elements_of(problem), target.device.multiprocessors);
  // The first cache keeps a block's share of them for the second time, where it is small.
  constexpr double kFirstCache = 128 << 10;
  const double once = 4.0 * double(elements_of(problem));
  if (once / double(work.main().blocks) <= kFirstCache) work.main().l2_bytes = work.bytes() - once;
  return work;
}

// Tiles bring all parts of their rows and columns, 64 of k at a time.
double copied_parts(const PartsProduct& p, const PartsProductPlan& plan) {
  constexpr std::int64_t kHalf = 2, kDepth = 64;
  const products::CopiedFactor a{p.m, p.k, p.ld_a, !p.trans_a, kHalf, kWgmmaRows, kDepth},
      b{p.n, p.k, p.ld_b, p.trans_b, kHalf, kFp16x3WgmmaColumns, kDepth};
  return p.parts_a * a.bytes() * plan.order.tiles_n + p.parts_b * b.bytes() * plan.order.tiles_m;
}

Work work_product(const Problem& problem, const Target& target) {
  const PartsProduct p = parts_product(problem.inputs, problem.attrs);
  const PartsProductPlan plan = plan_parts_product(p.m, p.n, p.k, target.device.multiprocessors);
  Work work = least_work(problem, target);
  work.with("gpu.parts_product", Unit::fp16, {p.m, p.n, p.k});
  work.main().flops *= p.parts_a + p.parts_b - 1;
  work.main().tile = {kWgmmaRows, kFp16x3WgmmaColumns, 64};
  work.main().blocks = std::int64_t{plan.order.tiles()} * plan.splits;
  work.main().l2_bytes = copied_parts(p, plan) + double(problem.outputs[0].bytes());
  return work;
}

Verdict accepts_wide(const Problem& problem, const Target&) {
  for (const TensorType& type : {problem.inputs[0], problem.outputs[0]})
    if (type.dtype == DType::f16) return refuse("16-bit floats are for GPUs");
  return accept();
}

}  // namespace
}  // namespace fp16_parts_kernels_cc

std::vector<Operator> fp16_parts_operators() {
  using namespace fp16_parts_kernels_cc;
  return {{.schema = fp16_parts_schema(),
           .kernels = {{.name = "cuda:one_pass",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_parts,
                        .work = work_parts,
                        .prepare = HEADROOM_CUDA(prepare_fp16_parts_cuda),
                        .workspace = workspace_parts},
                       {.name = "reference", .accepts = accepts_wide, .prepare = fp16_parts_reference}},
           .cases = fp16_parts_cases(),
           .exact = true},
          {.schema = parts_product_schema(),
           .kernels = {{.name = "cuda:wgmma",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_product,
                        .work = work_product,
                        .prepare = HEADROOM_CUDA(prepare_parts_product_cuda)},
                       {.name = "reference", .accepts = accepts_wide, .prepare = parts_product_reference}},
           .cases = parts_product_cases(),
           .exact = true}};
}

}  // namespace headroom
