// The GPU kernels of products, in order. Each is defined in the file of its name.
#include "ops/product/kernels.h"

namespace headroom {
namespace {

Kernel bound(const ProductKernel& idea, const ProductOf& of) {
  Kernel kernel{.name = idea.name,
                .device = DeviceKind::cuda,
                .shares_counter = idea.shares_counter,
                .vendor = idea.vendor};
  kernel.accepts = [idea, of](const Problem& p, const Target& target) {
    if (Verdict verdict = accepts_cuda_floats(p, target); !verdict.ok) return verdict;
    return idea.accepts(of(p, target), target);
  };
  kernel.work = [idea, of](const Problem& p, const Target& target) {
    return idea.work(of(p, target), target, least_work(p, target));
  };
  if (idea.workspace != nullptr)
    kernel.workspace = [idea, of](const Problem& p, const Target& target) {
      return idea.workspace(of(p, target), target);
    };
  if (idea.prepare != nullptr)
    kernel.prepare = [idea, of](const Problem& p, const LaunchContext& context) {
      return idea.prepare(of(p, context.target), context);
    };
  return kernel;
}

}  // namespace

std::vector<Kernel> product_kernels(const ProductOf& product_of) {
  std::vector<Kernel> list;
  for (const ProductKernel& idea : {product_outer(), product_skinny(), product_fp16x3(), product_tf32x3(),
                                    product_cublaslt(), product_tiles()})
    list.push_back(bound(idea, product_of));
  return list;
}

}  // namespace headroom
