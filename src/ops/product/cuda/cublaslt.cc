// "cuda:cublaslt": NVIDIA's matrix library. Sigmoid and tanh are no part of it and take a pass more.
#include <utility>

#include "ops/product/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "base/error.h"
#include "ops/cuda/gemm.h"
#include "ops/cuda/gemm_tiles.h"
#include "ops/cuda/launch.h"
#endif

namespace headroom {
namespace {

using namespace products;

std::size_t workspace(const Product& p, const Target&) {
  return library_workspace(static_cast<std::size_t>(p.most_at_once() * p.m * p.n) *
                           accumulator_bytes(p.dtype));
}

Verdict accepts(const Product&, const Target& target) {
  if (!target.device.cublaslt) return refuse("cuBLASLt could not be loaded");
  return accept();
}

Work work(const Product& p, const Target&, Work least) {
  least.with(p.dtype == DType::f32   ? (p.tf32 ? "cublaslt.tf32" : "cublaslt.fp32")
             : p.dtype == DType::f64 ? "cublaslt.fp64"
                                     : "cublaslt.16bit",
             tensor_unit(p.dtype, p.tf32), {p.m, p.n, p.k});
  least.main().count = static_cast<int>(p.runs.size());
  if (p.finish == Activation::sigmoid || p.finish == Activation::tanh)
    least.add_pass(2 * double(p.m) * double(p.n) * double(size_of(p.dtype)));
  return least;
}

#ifdef HEADROOM_HAS_CUDA
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
          .relu = finishes && p.finish == Activation::relu,
          .alpha = p.alpha,
          .beta = p.beta};
}

Launcher prepare(const Product& product, const LaunchContext& context) {
  const std::size_t bytes = workspace(product, context.target);
  // Bias and relu are done by the library where it can; sigmoid and tanh are not its own.
  bool finishes = product.finish == Activation::none || product.finish == Activation::relu;
  auto plans = std::make_shared<std::vector<cuda::GemmPlan>>();
  for (std::size_t i = 0; i < product.runs.size(); ++i) {
    plans->emplace_back(library_problem(product, product.runs[i], finishes), bytes);
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
                      finishes ? bias : nullptr, args.workspace,
                      p.beta == 0 ? nullptr : at(args.inputs[p.bias ? 3 : 2], run.c, p.dtype));
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
#endif

}  // namespace

ProductKernel product_cublaslt() {
  return {.name = "cuda:cublaslt",
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace,
          .vendor = true,
          .scales = true};
}

}  // namespace headroom
