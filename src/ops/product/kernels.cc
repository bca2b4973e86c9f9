// The GPU kernels of products, in order. Each is defined in the file of its name.
#include "ops/product/kernels.h"

#include <utility>
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#include "ops/cuda/scale_add.h"
#endif

namespace headroom {
namespace {

// A kernel that does not know alpha and beta computes the bare product; a pass over it does the rest.
bool needs_pass(const ProductKernel& idea, const Product& product) {
  return product.scaled() && !idea.scales;
}

Product bare(Product product) {
  product.alpha = 1, product.beta = 0;
  return product;
}

Verdict accepts_product(const ProductKernel& idea, const Product& product, const Target& target) {
  if (!needs_pass(idea, product)) return idea.accepts(product, target);
  if (product.bias || product.finish != Activation::none || product.ldc != product.n ||
      product.runs.size() != 1)
    return refuse("alpha and beta need a pass of their own, for one plain product without gaps");
  return idea.accepts(bare(product), target);
}

Work work_of(const ProductKernel& idea, const Product& product, const Target& target, Work least) {
  if (!needs_pass(idea, product)) return idea.work(product, target, std::move(least));
  const double c =
      double(product.runs[0].count) * double(product.m) * double(product.n) * double(size_of(product.dtype));
  const double added = product.beta == 0 ? 0 : c;  // read by the pass, not by the product
  Work work = idea.work(bare(product), target, std::move(least.add_bytes(-added))).add_pass(2 * c + added);
  work.launches.back().executed = (product.beta == 0 ? 1 : 3) * c / double(size_of(product.dtype));
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare_product(const ProductKernel& idea, const Product& product, const LaunchContext& context) {
  if (!needs_pass(idea, product)) return idea.prepare(product, context);
  return [launch = idea.prepare(bare(product), context), p = product](const LaunchArgs& args) {
    launch(args);
    cuda::scale_add(p.dtype, p.alpha, p.beta, p.beta == 0 ? nullptr : args.inputs[2], args.outputs[0],
                    p.runs[0].count * p.m * p.n, cuda::stream_of(args));
  };
}
#endif

Kernel bound(const ProductKernel& idea, const ProductOf& of) {
  Kernel kernel{.name = idea.name,
                .device = DeviceKind::cuda,
                .shares_counter = idea.shares_counter,
                .vendor = idea.vendor,
                .splits_factors = idea.splits_factors};
  kernel.accepts = [idea, of](const Problem& p, const Target& target) {
    if (Verdict verdict = accepts_cuda_floats(p, target); !verdict.ok) return verdict;
    return accepts_product(idea, of(p, target), target);
  };
  kernel.work = [idea, of](const Problem& p, const Target& target) {
    return work_of(idea, of(p, target), target, least_work(p, target));
  };
  if (idea.pays != nullptr)
    kernel.pays = [idea, of](const Problem& p, const Target& target) {
      return idea.pays(of(p, target), target);
    };
  if (idea.workspace != nullptr)
    kernel.workspace = [idea, of](const Problem& p, const Target& target) {
      return idea.workspace(of(p, target), target);
    };
#ifdef HEADROOM_HAS_CUDA
  if (idea.prepare != nullptr)
    kernel.prepare = [idea, of](const Problem& p, const LaunchContext& context) {
      return prepare_product(idea, of(p, context.target), context);
    };
#endif
  return kernel;
}

// Order is policy: the first that accepts runs. The rungs of `bench gemm` that only show an idea come last:
// cuda:tiles accepts whatever they do, so no plan takes one unless the user names it.
std::vector<ProductKernel> product_ideas() {
  return {
      product_outer(),
      product_skinny(),
      product_thin(),
      product_fp16x3_rows(),
      product_fp16x3_wgmma(),
      product_fp16_wgmma(),
      product_fp16x3(),
      product_clusters(),
      product_slices(),
      product_tf32x3(),
      product_cublaslt(),
      product_tiles(),
      product_wgmma(),
      product_bf16x6(),
      product_fp64_tiles(),
      product_async_tiles(),
      product_register_tiles(),
      product_block_64x16(),
      product_shared_2d(),
      product_shared_1d(),
      product_outputs_4x4(),
      product_threads_along_rows(),
      product_threads_along_columns(),
  };
}

}  // namespace

ProductKernel product_chosen(const Product& product, const Target& target) {
  for (const ProductKernel& idea : product_ideas())
    if (!idea.shares_counter && idea.accepts(product, target).ok &&
        (idea.pays == nullptr || idea.pays(product, target).ok))
      return idea;
  return product_tiles();
}

std::vector<Kernel> product_kernels(const ProductOf& product_of) {
  std::vector<Kernel> list;
  for (const ProductKernel& idea : product_ideas()) list.push_back(bound(idea, product_of));
  return list;
}

}  // namespace headroom
