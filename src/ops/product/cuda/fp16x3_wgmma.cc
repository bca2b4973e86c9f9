// "cuda:fp16x3_wgmma": exact fp32 by products of fp16 parts in one kernel of Hopper's warp-group
// instructions. "cuda:fp16_wgmma": one part each, as exact as tf32. What they do is told in
// ops/cuda/gemm_wgmma.h. In a network, a pass shares the parts among products (share_parts).
#include "ops/product/cuda/tile_sectors.h"
#include "ops/product/wgmma.h"
#ifdef HEADROOM_HAS_CUDA
#include <memory>

#include "device/cuda/check.h"
#include "ops/cuda/fp16_parts.h"
#include "ops/cuda/gemm_wgmma.h"
#include "ops/cuda/launch.h"
#include "ops/cuda/tensor_map.h"
#endif

namespace headroom {
namespace {

using namespace products;

template <int kParts>
Fp16x3WgmmaPlan plan_of(const Product& p, const Target& target) {
  return plan_fp16x3_wgmma(p, kParts, target.device.multiprocessors);
}

template <int kParts>
std::size_t workspace(const Product& p, const Target& target) {
  return plan_of<kParts>(p, target).workspace;
}

template <int kParts>
Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (kParts == 2 && p.tf32) return refuse("tf32 is allowed: one product is enough");
  if (kParts == 1 && !p.tf32) return refuse("rounds factors to 11 bits, as tf32 does, which is not allowed");
  if (std::string reason = no_wgmma(p, target.device.compute_capability); !reason.empty())
    return refuse(std::move(reason));
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  if (target.device.memory_bytes != 0 && workspace<kParts>(p, target) > target.device.memory_bytes / 8)
    return refuse("its copies would take more than an eighth of the device's memory");
  return accept();
}

Verdict pays_exact(const Product& p, const Target&) { return large_enough_to_split(p); }

// Measured on an H200, mlp 512 with batch 3000: forward 30.5 us by the library and 41.6 with this kernel; a
// training step, in which the images serve two products, 66.8 and 59.1. Smaller perceptrons lose in both.
Verdict pays_rounded(const Product&, const Target&) {
  return refuse("the library's tf32 products need no copies of their factors");
}

template <int kParts>
Work work(const Product& p, const Target& target, Work least) {
  const Fp16x3WgmmaPlan plan = plan_of<kParts>(p, target);
  least.with("gpu.fp16x3_wgmma", Unit::fp16, {p.m, p.n, p.k});
  least.main().tile = {kWgmmaRows, kFp16x3WgmmaColumns, 64};
  least.main().blocks = plan.product.order.tiles() * plan.product.splits;
  // The copies scale each element and take its first part off; the product scales its sums back.
  least.main().executed = (2 * kParts - 1) * whole_tile_flops(p, kWgmmaRows, kFp16x3WgmmaColumns, 64) +
                          2 * double(p.m + p.n) * double(p.k) + 2 * outputs_of(p);
  Product parts = p;  // one of each factor's
  parts.dtype = DType::f16, parts.lda = plan.ld_a, parts.ldb = plan.ld_b;
  least.main().l2_bytes =
      least.main().bytes + kParts * more_for_factors(parts, {kWgmmaRows, kFp16x3WgmmaColumns, 64});
  // Factors are read twice, and written in parts, which the product reads.
  least.add_pass((8 + 2 * kParts) * double(p.m + p.n) * double(p.k), 1);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
// Where one factor lies, and where its parts go.
cuda::PartsMatrix parts_of(const float* from, bool along, std::int64_t side, std::int64_t k, std::int64_t ld,
                           void* to, std::int64_t to_ld, int parts, cuda::PartsScale* scale) {
  return {.from = from,
          .rows = along ? side : k,
          .columns = along ? k : side,
          .ld = ld,
          .to = to,
          .to_ld = to_ld,
          .max_parts = parts,
          .scale = scale};
}

template <int kParts>
Launcher prepare(const Product& product, const LaunchContext& context) {
  const Fp16x3WgmmaPlan plan = plan_of<kParts>(product, context.target);
  const bool along_a = !product.trans_a, along_b = product.trans_b;
  const cuda::WgmmaKernel kernel = cuda::fp16x3_wgmma(!along_a, !along_b);
  cuda::allow_shared(kernel);
  auto maps = std::make_shared<std::pair<cuda::PlacedMap, cuda::PlacedMap>>(
      cuda::parts_map(along_a, product.m, product.k, plan.ld_a, kParts),
      cuda::parts_map(along_b, product.n, product.k, plan.ld_b, kParts));
  return [p = product, plan, kernel, along_a, along_b, maps](const LaunchArgs& args) {
    cudaStream_t stream = cuda::stream_of(args);
    char* const memory = static_cast<char*>(args.workspace);
    auto* const scales = reinterpret_cast<cuda::PartsScale*>(memory);
    void *const a = memory + plan.a, *const b = memory + plan.b;
    const cuda::PartsTask task{.of = {parts_of(args.in<float>(0) + p.runs[0].a, along_a, p.m, p.k, p.lda, a,
                                               plan.ld_a, kParts, scales),
                                      parts_of(args.in<float>(1) + p.runs[0].b, along_b, p.n, p.k, p.ldb, b,
                                               plan.ld_b, kParts, scales + 1)},
                               .count = 2,
                               .found = reinterpret_cast<cuda::PartsFound*>(memory + plan.found)};
    cuda::write_parts(task, plan.parts_blocks, stream);
    float* const c = args.out<float>(0) + p.runs[0].c;
    cuda::launch_wgmma(kernel, maps->first.at(a), maps->second.at(b),
                       {.bias = p.bias ? args.inputs[2] : nullptr,
                        .c = c,
                        .scale_a = scales,
                        .scale_b = scales + 1,
                        .m = p.m,
                        .n = p.n,
                        .ldc = p.ldc,
                        .stride_c = 0,
                        .steps = plan.product.steps,
                        .splits = plan.product.splits,
                        .batch = 1,
                        .many_a = false,
                        .many_b = false,
                        .whole_c = whole_rows(c, p.ldc, 0, p.dtype),
                        .finish = p.finish,
                        .order = plan.product.order},
                       plan.product.blocks, stream);
  };
}
#endif

}  // namespace

ProductKernel product_fp16x3_wgmma() {
  return {.name = "cuda:fp16x3_wgmma",
          .accepts = accepts<2>,
          .work = work<2>,
          .prepare = HEADROOM_CUDA(prepare<2>),
          .workspace = workspace<2>,
          .splits_factors = true,
          .pays = pays_exact};
}

ProductKernel product_fp16_wgmma() {
  return {.name = "cuda:fp16_wgmma",
          .accepts = accepts<1>,
          .work = work<1>,
          .prepare = HEADROOM_CUDA(prepare<1>),
          .workspace = workspace<1>,
          .splits_factors = true,
          .pays = pays_rounded};
}

}  // namespace headroom
