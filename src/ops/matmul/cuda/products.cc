// The GPU kernels of matrix products (src/ops/product), bound to matmul, and the slope of an activation
// behind them: cuda:outer multiplies with it as it stores, the others have it done by the activation's own
// kernel, in place.
#include <array>
#include <utility>

#include "ops/matmul/matmul.h"
#include "ops/product/kernels.h"

namespace headroom {
namespace {

Product product_of(const Problem& problem, const Target& target) {
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  Product product = plain_product(p, problem, target);
  if (p.folds())
    product.m *= p.count();
  else
    product.runs = runs_of(p.a, p.b, p.m * p.n);
  return product;
}

#ifdef HEADROOM_HAS_CUDA

Launcher outer_with_slope(const Problem& problem, const LaunchContext& context) {
  return prepare_product_outer_slope(product_of(problem, context.target), matmul_slope(problem.attrs));
}

// The product, then the slope in place.
Launcher then_slope(Launcher product, const Problem& problem, const LaunchContext& context) {
  if (matmul_slope(problem.attrs) == Activation::none) return product;
  const TensorType type = problem.outputs[0];
  Launcher slope = prepare_activation_cuda({.op = problem.attrs.text("activation_grad") + "_grad",
                                            .inputs = {type, type},
                                            .outputs = {type},
                                            .attrs = {}},
                                           context);
  return [product = std::move(product), slope = std::move(slope)](const LaunchArgs& args) {
    product(args);
    const std::array<const void*, 2> inputs = {args.outputs[0], args.inputs[2]};
    slope({inputs.data(), args.outputs, nullptr, args.stream});
  };
}

#endif

Kernel with_slope(Kernel kernel) {
  kernel.work = [work = kernel.work](const Problem& problem, const Target& target) {
    Work done = work(problem, target);
    if (matmul_slope(problem.attrs) != Activation::none)
      done.add_pass(2 * double(problem.outputs[0].bytes()));
    return done;
  };
#ifdef HEADROOM_HAS_CUDA
  kernel.prepare = [prepare = kernel.prepare](const Problem& problem, const LaunchContext& context) {
    return then_slope(prepare(problem, context), problem, context);
  };
#endif
  return kernel;
}

}  // namespace

std::vector<Kernel> matmul_cuda_products() {
  std::vector<Kernel> list = product_kernels(product_of);
  for (Kernel& kernel : list) {
    if (kernel.name == "cuda:outer")
      kernel.prepare = HEADROOM_CUDA(outer_with_slope);
    else
      kernel = with_slope(std::move(kernel));
  }
  return list;
}

}  // namespace headroom
