// "cuda:wgmma": Hopper's warp-group instructions, for 16 bit and tf32. What it does is told in
// ops/cuda/gemm_wgmma.h.
#include "ops/product/wgmma.h"

#include <algorithm>

#include "ops/product/cuda/tile_sectors.h"
#ifdef HEADROOM_HAS_CUDA
#include <memory>
#include <vector>

#include "ops/cuda/copy.h"
#include "ops/cuda/gemm_wgmma.h"
#include "ops/cuda/launch.h"
#include "ops/cuda/tensor_map.h"
#endif

namespace headroom {
namespace {

using namespace products;

std::size_t workspace(const Product& p, const Target& target) {
  return plan_wgmma(p, target.device.multiprocessors).workspace;
}

bool in_16_bytes(std::int64_t elements, DType dtype) { return elements * bytes_of(dtype) % 16 == 0; }

// The copy engine takes rows and matrices that begin at multiples of 16 bytes.
Verdict accepts(const Product& p, const Target& target) {
  if (p.dtype == DType::f64) return refuse("there are no warp-group instructions for fp64");
  if (p.dtype == DType::f32 && !p.tf32)
    return refuse("would round fp32 factors to tf32, which is not allowed");
  if (std::string reason = no_wgmma(p, target.device.compute_capability); !reason.empty())
    return refuse(std::move(reason));
  // Tensor cores cut their sums off. On all-positive data that costs 8e-9 of the result for each term: 1.3e-4
  // of 17496 terms, where tf32 itself errs by 1e-5. With fp16 and bf16 it is less than the rounding of the
  // result.
  constexpr std::int64_t kMaxTerms = 4096;
  if (p.dtype == DType::f32 && p.k > kMaxTerms)
    return refuse(fmt::format(
        "sums of more than {} terms in one accumulator would err by more than tf32 does", kMaxTerms));
  const WgmmaPlan plan = plan_wgmma(p, target.device.multiprocessors);
  for (const ProductRun& run : p.runs) {
    const bool a = in_16_bytes(p.lda, p.dtype) && in_16_bytes(run.a, p.dtype) &&
                   in_16_bytes(run.stride_a, p.dtype),
               b = in_16_bytes(p.ldb, p.dtype) && in_16_bytes(run.b, p.dtype) &&
                   in_16_bytes(run.stride_b, p.dtype);
    if ((!a && !plan.copy_a) || (!b && !plan.copy_b))
      return refuse("the copy engine needs rows that begin at multiples of 16 bytes");
  }
  return accept();
}

// As the copy engine meets its factors.
Product as_copied(Product p, const WgmmaPlan& plan) {
  if (plan.copy_a) p.trans_a = false, p.lda = plan.copy_ld;
  if (plan.copy_b) p.trans_b = true, p.ldb = plan.copy_ld;
  return p;
}

Work work(const Product& p, const Target& target, Work least) {
  const WgmmaPlan plan = plan_wgmma(p, target.device.multiprocessors);
  least.with(p.dtype == DType::f32 ? "gpu.wgmma.tf32" : "gpu.wgmma.16bit", tensor_unit(p.dtype, p.tf32),
             {p.m, p.n, p.k});
  KernelLaunch& main = least.main();
  main.tile = {kWgmmaRows, plan.tile_n, plan.depth};
  main.blocks = plan.blocks;
  main.count = static_cast<int>(p.runs.size());
  constexpr std::int64_t kChunk = 64;  // columns that a warp stores at once
  main.l2_bytes = main.bytes + more_for_factors(as_copied(p, plan), {kWgmmaRows, plan.tile_n, plan.depth}) +
                  more_for_results(p, kChunk);
  if (plan.workspace > 0)
    least.add_pass(2 * double(plan.workspace), main.count * (plan.copy_a + plan.copy_b));
  return least;
}

#ifdef HEADROOM_HAS_CUDA
cuda::WgmmaKernel kernel_of(const Product& p, const WgmmaPlan& plan) {
  switch (p.dtype) {
    case DType::f16:
      return cuda::half_wgmma(plan.tile_n, p.trans_a, !p.trans_b);
    case DType::bf16:
      return cuda::brain_wgmma(plan.tile_n, p.trans_a, !p.trans_b);
    default:
      return cuda::tf32_wgmma(plan.tile_n);
  }
}

// One factor of a run: `side` rows (of op(A), or columns of op(B)), across k or along it.
struct Factor {
  std::int64_t side, k, ld, count, stride;
  bool across, copied;
  std::int64_t copy_ld;

  cuda::MatrixMap map(DType dtype, int rows_of_tile) const {
    if (copied)
      return {.dtype = dtype,
              .columns = k,
              .rows = side,
              .ld = copy_ld,
              .count = count,
              .stride = side * copy_ld,
              .box_rows = rows_of_tile};
    return {.dtype = dtype,
            .columns = across ? side : k,
            .rows = across ? k : side,
            .ld = ld,
            .count = count,
            .stride = stride,
            .box_rows = across ? 64 : rows_of_tile};
  }
  // Rows along k, from columns.
  const void* transposed(const void* from, void* to, cudaStream_t stream) const {
    cuda::copy_box(4,
                   {.rank = 3,
                    .extent = {count, side, k},
                    .from = {stride, 1, ld},
                    .to = {side * copy_ld, copy_ld, 1},
                    .crosswise = true},
                   from, to, stream);
    return to;
  }
};

struct RunOfFactors {
  Factor a, b;
  cuda::PlacedMap map_a, map_b;
};

RunOfFactors factors_of(const Product& p, const WgmmaPlan& plan, const ProductRun& run) {
  const auto many = [&run](std::int64_t stride) { return stride == 0 ? std::int64_t{1} : run.count; };
  const Factor a{p.m, p.k, p.lda, many(run.stride_a), run.stride_a, p.trans_a, plan.copy_a, plan.copy_ld},
      b{p.n, p.k, p.ldb, many(run.stride_b), run.stride_b, !p.trans_b, plan.copy_b, plan.copy_ld};
  return {a, b, cuda::PlacedMap(a.map(p.dtype, kWgmmaRows)), cuda::PlacedMap(b.map(p.dtype, plan.tile_n))};
}

Launcher prepare(const Product& product, const LaunchContext& context) {
  const WgmmaPlan plan = plan_wgmma(product, context.target.device.multiprocessors);
  const cuda::WgmmaKernel kernel = kernel_of(product, plan);
  cuda::allow_shared(kernel);
  auto runs = std::make_shared<std::vector<RunOfFactors>>();
  for (const ProductRun& run : product.runs) runs->push_back(factors_of(product, plan, run));
  return [p = product, plan, kernel, runs](const LaunchArgs& args) {
    cudaStream_t stream = cuda::stream_of(args);
    char* const memory = static_cast<char*>(args.workspace);
    for (std::size_t i = 0; i < p.runs.size(); ++i) {
      const ProductRun& run = p.runs[i];
      RunOfFactors& factors = (*runs)[i];
      const void *a = at(args.inputs[0], run.a, p.dtype), *b = at(args.inputs[1], run.b, p.dtype);
      if (plan.copy_a) a = factors.a.transposed(a, memory + plan.a, stream);
      if (plan.copy_b) b = factors.b.transposed(b, memory + plan.b, stream);
      void* const c = at(args.outputs[0], run.c, p.dtype);
      cuda::launch_wgmma(kernel, factors.map_a.at(a), factors.map_b.at(b),
                         {.bias = p.bias ? args.inputs[2] : nullptr,
                          .c = c,
                          .scale_a = nullptr,
                          .scale_b = nullptr,
                          .m = p.m,
                          .n = p.n,
                          .ldc = p.ldc,
                          .stride_c = run.stride_c,
                          .steps = static_cast<int>(ceil_div(p.k, plan.depth)),
                          .splits = 1,
                          .batch = static_cast<unsigned>(run.count),
                          .many_a = run.stride_a != 0,
                          .many_b = run.stride_b != 0,
                          .whole_c = whole_rows(c, p.ldc, run.stride_c, p.dtype),
                          .finish = p.finish,
                          .order = plan.order},
                         std::min(plan.blocks, run.count * std::int64_t{plan.order.tiles()}), stream);
    }
  };
}
#endif

}  // namespace

ProductKernel product_wgmma() {
  return {.name = "cuda:wgmma",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
