// "cuda:fp16x3_wgmma": exact fp32 by products of fp16 parts in one kernel of Hopper's warp-group
// instructions. What it does is told in ops/cuda/gemm_wgmma.h.
#include "ops/product/cuda/shared.h"
#include "ops/product/wgmma.h"
#ifdef HEADROOM_HAS_CUDA
#include <memory>

#include "device/cuda/check.h"
#include "ops/cuda/gemm_wgmma.h"
#include "ops/cuda/launch.h"
#include "ops/cuda/tensor_map.h"
#include "ops/product/cuda/fp16x3_copy.h"
#endif

namespace headroom {
namespace {

using namespace products;

std::size_t workspace(const Product& p, const Target& target) {
  return plan_fp16x3_wgmma(p, target.device.multiprocessors).workspace;
}

Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype != DType::f32) return refuse("splits only fp32");
  if (p.tf32) return refuse("tf32 is allowed: one product is enough");
  if (std::string reason = no_wgmma(p, target.device.compute_capability); !reason.empty())
    return refuse(std::move(reason));
  if (p.runs.size() != 1 || p.runs[0].count != 1) return refuse("takes one product, not a batch of them");
  if (target.device.memory_bytes != 0 && workspace(p, target) > target.device.memory_bytes / 8)
    return refuse("its copies would take more than an eighth of the device's memory");
  return accept();
}

Work work(const Product& p, const Target& target, Work least) {
  const Fp16x3WgmmaPlan plan = plan_fp16x3_wgmma(p, target.device.multiprocessors);
  least.with("gpu.fp16x3_wgmma", Unit::fp16, {plan.m, plan.n, plan.k});
  least.main().tile = {kWgmmaRows, kFp16x3WgmmaColumns, 64};
  least.main().blocks = plan.blocks;
  // Two words are cleared, factors are read twice, and written in parts, which the product reads.
  least.add_pass(3 * 4 * double(plan.m + plan.n) * double(plan.k), 3);
  return least;
}

#ifdef HEADROOM_HAS_CUDA
// Both parts of a copy, hi before lo along k.
cuda::PlacedMap map_of(const PartsCopy& copy, bool along) {
  return cuda::PlacedMap({.dtype = DType::f16,
                          .columns = along ? 2 * copy.k : copy.side,
                          .rows = along ? copy.side : 2 * copy.k,
                          .ld = copy.ld,
                          .box_rows = along ? kWgmmaRows : 64});
}

Launcher prepare(const Product& product, const LaunchContext& context) {
  const Fp16x3WgmmaPlan plan = plan_fp16x3_wgmma(product, context.target.device.multiprocessors);
  const bool along_a = !product.trans_a, along_b = product.trans_b;
  const cuda::WgmmaKernel kernel = cuda::fp16x3_wgmma(!along_a, !along_b);
  cuda::allow_shared(kernel);
  const PartsCopy a = copy_of(along_a, plan.m, plan.k), b = copy_of(along_b, plan.n, plan.k);
  auto maps =
      std::make_shared<std::pair<cuda::PlacedMap, cuda::PlacedMap>>(map_of(a, along_a), map_of(b, along_b));
  return [p = product, plan, kernel, a, b, along_a, along_b, maps](const LaunchArgs& args) {
    cudaStream_t stream = cuda::stream_of(args);
    char* const memory = static_cast<char*>(args.workspace);
    auto* const largest = reinterpret_cast<unsigned*>(memory);
    void *const copy_a = memory + plan.a, *const copy_b = memory + plan.b;
    const cuda::Fp16x3Operands operands{
        .of = {operand_of(args.in<float>(0) + p.runs[0].a, copy_a, along_a, p.m, p.k, p.lda, a, true),
               operand_of(args.in<float>(1) + p.runs[0].b, copy_b, along_b, p.n, p.k, p.ldb, b, true)},
        .largest = largest};
    HEADROOM_CUDA_CHECK(cudaMemsetAsync(largest, 0, 2 * sizeof *largest, stream));
    cuda::find_largest(operands, stream);
    cuda::split_fp16x3(operands, stream);
    float* const c = args.out<float>(0) + p.runs[0].c;
    cuda::launch_wgmma(kernel, maps->first.at(copy_a), maps->second.at(copy_b),
                       {.bias = p.bias ? args.inputs[2] : nullptr,
                        .c = c,
                        .largest = largest,
                        .m = p.m,
                        .n = p.n,
                        .ldc = p.ldc,
                        .stride_c = 0,
                        .k_of_parts = plan.k,
                        .steps = static_cast<int>(plan.k / 64),
                        .batch = 1,
                        .many_a = false,
                        .many_b = false,
                        .whole_c = whole_rows(c, p.ldc, 0, p.dtype),
                        .finish = p.finish,
                        .order = plan.order},
                       plan.blocks, stream);
  };
}
#endif

}  // namespace

ProductKernel product_fp16x3_wgmma() {
  return {.name = "cuda:fp16x3_wgmma",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
