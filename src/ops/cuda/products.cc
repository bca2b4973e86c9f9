// Products bound to their kernels: linear's and matmul's GPU half.
#include <utility>

#include "base/error.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/gemm_skinny.h"
#include "ops/cuda/gemm_tiles.h"
#include "ops/cuda/launch.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace {

std::int64_t bytes_of(DType dtype) { return dtype == DType::f64 ? 8 : dtype == DType::f32 ? 4 : 2; }

const void* at(const void* base, std::int64_t elements, DType dtype) {
  return static_cast<const char*>(base) + elements * bytes_of(dtype);
}
void* at(void* base, std::int64_t elements, DType dtype) {
  return static_cast<char*>(base) + elements * bytes_of(dtype);
}

// Rows that all begin at multiples of 16 bytes.
bool whole_rows(const void* base, std::int64_t ld, std::int64_t stride, DType dtype) {
  const std::int64_t bytes = bytes_of(dtype);
  return reinterpret_cast<std::uintptr_t>(base) % 16 == 0 && ld * bytes % 16 == 0 && stride * bytes % 16 == 0;
}

cuda::TileKernel tile_kernel_of(const Product& p, int tile) {
  switch (p.dtype) {
    case DType::f64:
      return cuda::fp64_kernel(!p.trans_a, p.trans_b);
    case DType::f16:
      return cuda::half_kernel(!p.trans_a, p.trans_b);
    case DType::bf16:
      return cuda::brain_kernel(!p.trans_a, p.trans_b);
    default:
      return p.tf32 ? cuda::tf32_kernel(!p.trans_a, p.trans_b)
                    : cuda::tf32x3_kernel(tile, !p.trans_a, p.trans_b);
  }
}

cuda::GemmPlan::Problem library_problem(const Product& p, const ProductRun& run, bool finishes) {
  return {.dtype = p.dtype,
          .tf32 = p.tf32,
          .trans_a = p.trans_a,
          .trans_b = p.trans_b,
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .lda = p.lda,
          .ldb = p.ldb,
          .ldc = p.ldc,
          .batch = run.count,
          .stride_a = run.stride_a,
          .stride_b = run.stride_b,
          .stride_c = run.stride_c,
          .bias = finishes && p.bias,
          .relu = finishes && p.finish == Activation::relu};
}

}  // namespace

Launcher prepare_product_tiles(const Product& product, const LaunchContext& context) {
  const TilePlan plan = plan_tiles(product, context.target.device.multiprocessors);
  const cuda::TileKernel kernel = tile_kernel_of(product, plan.tile);
  cuda::allow_shared(kernel);
  return [p = product, plan, kernel](const LaunchArgs& args) {
    const void* bias = p.bias ? args.inputs[2] : nullptr;
    for (const ProductRun& run : p.runs) {
      const void *a = at(args.inputs[0], run.a, p.dtype), *b = at(args.inputs[1], run.b, p.dtype);
      void* c = at(args.outputs[0], run.c, p.dtype);
      cuda::launch_tiles(kernel,
                         {.a = a,
                          .b = b,
                          .bias = bias,
                          .c = c,
                          .partial = plan.splits > 1 ? args.workspace : nullptr,
                          .m = p.m,
                          .n = p.n,
                          .k = p.k,
                          .lda = p.lda,
                          .ldb = p.ldb,
                          .ldc = p.ldc,
                          .stride_a = run.stride_a,
                          .stride_b = run.stride_b,
                          .stride_c = run.stride_c,
                          .k_per_split = plan.k_per_split,
                          .batch = static_cast<int>(run.count),
                          .splits = plan.splits,
                          .whole_a = whole_rows(a, p.lda, run.stride_a, p.dtype),
                          .whole_b = whole_rows(b, p.ldb, run.stride_b, p.dtype),
                          .whole_c = whole_rows(c, p.ldc, run.stride_c, p.dtype),
                          .finish = p.finish},
                         cuda::stream_of(args));
      if (plan.splits > 1)
        cuda::finish_partials(p.dtype,
                              {.from = args.workspace,
                               .c = c,
                               .bias = bias,
                               .rows = run.count * p.m,
                               .n = p.n,
                               .pieces = plan.splits,
                               .finish = p.finish},
                              cuda::stream_of(args));
    }
  };
}

Launcher prepare_product_skinny(const Product& product, const LaunchContext& context) {
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

Launcher prepare_product_cublaslt(const Product& product, const LaunchContext& context) {
  const std::size_t workspace = cublaslt_workspace(product, context.target);
  // Bias and relu are done by the library where it can; sigmoid and tanh are not its own.
  bool finishes = product.finish == Activation::none || product.finish == Activation::relu;
  auto plans = std::make_shared<std::vector<cuda::GemmPlan>>();
  for (std::size_t i = 0; i < product.runs.size(); ++i) {
    plans->emplace_back(library_problem(product, product.runs[i], finishes), workspace);
    if (plans->back().good()) continue;
    if (!finishes || (!product.bias && product.finish == Activation::none))
      fail("cuBLASLt has no algorithm for {} x {} x {}", product.m, product.n, product.k);
    finishes = false;  // from the first one on, so that all are finished alike
    plans->clear();
    i = static_cast<std::size_t>(-1);
  }
  return [p = product, plans, finishes](const LaunchArgs& args) {
    const void* bias = p.bias ? args.inputs[2] : nullptr;
    for (std::size_t i = 0; i < p.runs.size(); ++i) {
      const ProductRun& run = p.runs[i];
      (*plans)[i].run(cuda::stream_of(args), at(args.inputs[0], run.a, p.dtype),
                      at(args.inputs[1], run.b, p.dtype), at(args.outputs[0], run.c, p.dtype),
                      finishes ? bias : nullptr, args.workspace);
    }
    if (!finishes && (p.bias || p.finish != Activation::none))
      for (const ProductRun& run : p.runs) {
        void* c = at(args.outputs[0], run.c, p.dtype);
        cuda::finish_in_place(p.dtype,
                              {.from = c,
                               .c = c,
                               .bias = bias,
                               .rows = run.count * p.m,
                               .n = p.n,
                               .pieces = 1,
                               .finish = p.finish},
                              cuda::stream_of(args));
      }
  };
}

}  // namespace headroom
