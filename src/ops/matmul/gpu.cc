// The products of matmul on GPUs, and the slope of an activation behind them: cuda:outer multiplies with it
// as it stores, the others have it done by the activation's own kernel, in place.
#include <array>
#include <utility>

#include "ops/matmul/matmul.h"
#include "ops/product/kernels.h"
#include "ops/product/outer.h"

namespace headroom {
namespace {

Product product_of(const Problem& problem, const Capabilities& capabilities) {
  MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  std::vector<ProductRun> runs = {ProductRun{}};
  if (p.folds())
    p.m *= p.count();
  else
    runs = runs_of(p.a, p.b, p.m * p.n);
  return {.dtype = problem.outputs[0].dtype,
          .tf32 = capabilities.tf32 && problem.outputs[0].dtype == DType::f32,
          .trans_a = p.trans_a,
          .trans_b = p.trans_b,
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .lda = p.lda,
          .ldb = p.ldb,
          .ldc = p.n,
          .runs = std::move(runs)};
}

using Products = ProductKernels<product_of>;

const std::vector<Kernel>& plain_kernels() {
  static const std::vector<Kernel> list = Products::list();
  return list;
}

#ifdef HEADROOM_HAS_CUDA

Launcher outer(const Problem& problem, const Capabilities& capabilities) {
  static_assert(static_cast<int>(Finish::relu) == static_cast<int>(Activation::relu) &&
                static_cast<int>(Finish::sigmoid) == static_cast<int>(Activation::sigmoid) &&
                static_cast<int>(Finish::tanh) == static_cast<int>(Activation::tanh));
  return prepare_product_outer_slope(product_of(problem, capabilities),
                                     static_cast<Finish>(matmul_slope(problem.attrs)));
}

// Kernel number i of that list, then the slope.
template <std::size_t i>
Launcher prepare_with_slope(const Problem& problem, const Capabilities& capabilities) {
  Launcher product = plain_kernels()[i].prepare(problem, capabilities);
  if (matmul_slope(problem.attrs) == Activation::none) return product;
  const TensorType type = problem.outputs[0];
  Launcher slope = prepare_activation_cuda({.op = problem.attrs.text("activation_grad") + "_grad",
                                            .inputs = {type, type},
                                            .outputs = {type},
                                            .attrs = {}},
                                           capabilities);
  return [product = std::move(product), slope = std::move(slope)](const LaunchArgs& args) {
    product(args);
    const std::array<const void*, 2> inputs = {args.outputs[0], args.inputs[2]};
    slope({inputs.data(), args.outputs, nullptr, args.stream});
  };
}

#endif

template <std::size_t i>
Work work_with_slope(const Problem& problem, const Capabilities& capabilities) {
  Work work = plain_kernels()[i].work(problem, capabilities);
  if (matmul_slope(problem.attrs) == Activation::none) return work;
  work.bytes += 2 * double(problem.outputs[0].bytes());
  ++work.launches;
  return work;
}

template <std::size_t... i>
std::vector<Kernel> kernels_with_slopes(std::index_sequence<i...>) {
  std::vector<Kernel> list = plain_kernels();
  if (list.size() > sizeof...(i)) fail("matmul: more kernels of products than are wrapped");
  auto wrap = [&](std::size_t at, auto work, auto prepare) {
    if (at >= list.size()) return;
    list[at].work = work;
    list[at].prepare = prepare;
  };
  (wrap(i, work_with_slope<i>, HEADROOM_CUDA(prepare_with_slope<i>)), ...);
  return list;
}

}  // namespace

std::vector<Kernel> matmul_gpu_kernels() {
  std::vector<Kernel> list = kernels_with_slopes(std::make_index_sequence<8>());
  list.insert(list.begin(), {.name = "cuda:outer",
                             .device = DeviceKind::cuda,
                             .accepts = Products::accept_as<accepts_outer>,
                             .work = Products::work_as<outer_work>,
                             .prepare = HEADROOM_CUDA(outer)});
  return list;
}

}  // namespace headroom
