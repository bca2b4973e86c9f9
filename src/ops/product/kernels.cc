#include "ops/product/kernels.h"

#include "ops/product/outer.h"

namespace headroom {
namespace {

// One idea for a product, before it is bound to an operator.
struct ProductKernel {
  std::string_view name;
  Verdict (*accepts)(const Product&, const Target&);
  Work (*work)(const Product&, const Target&, Work least);
  Launcher (*prepare)(const Product&, const LaunchContext&);
  std::size_t (*workspace)(const Product&, const Target&) = nullptr;
  bool shares_counter = false;
  bool vendor = false;
};

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
  static const ProductKernel kIdeas[] = {
      {"cuda:outer", accepts_outer, outer_work, HEADROOM_CUDA(prepare_product_outer)},
      {"cuda:skinny", accepts_skinny, skinny_work, HEADROOM_CUDA(prepare_product_skinny), skinny_workspace,
       true},
      {"cuda:fp16x3", accepts_fp16x3, fp16x3_work, HEADROOM_CUDA(prepare_product_fp16x3), fp16x3_workspace},
      {"cuda:tf32x3", accepts_tf32x3, tiles_work, HEADROOM_CUDA(prepare_product_tiles), tiles_workspace},
      {"cuda:cublaslt", accepts_cublaslt, cublaslt_work, HEADROOM_CUDA(prepare_product_cublaslt),
       cublaslt_workspace, false, true},
      {"cuda:tiles", accepts_tiles, tiles_work, HEADROOM_CUDA(prepare_product_tiles), tiles_workspace}};
  std::vector<Kernel> list;
  for (const ProductKernel& idea : kIdeas) list.push_back(bound(idea, product_of));
  return list;
}

}  // namespace headroom
