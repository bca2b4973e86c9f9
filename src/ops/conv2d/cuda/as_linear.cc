// A window over the whole input makes the convolution a product over the batch. One tap over NHWC is a
// product over all places, which the kernel "cudnn" also runs by this one. dw = dy^T x, dx = dy w.
#include "ops/conv2d/cuda/as_linear.h"

#include <utility>

#include "ops/conv2d/cuda/shared.h"

namespace headroom {

Product conv2d_as_product(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  Product product{.dtype = p.outputs[0].dtype,
                  .tf32 = p.outputs[0].dtype == DType::f32 && target.policy.tf32,
                  .m = c.batch * c.output_plane(),
                  .n = c.maps,
                  .k = c.depth(),
                  .bias = c.bias,
                  .finish = c.activation};
  product.trans_b = true;
  if (p.op == "conv2d_grad_input") {
    std::swap(product.n, product.k);
    product.trans_b = false, product.finish = Activation::none;
  } else if (is_weight_gradient(p)) {
    product.m = c.maps, product.n = c.depth(), product.k = c.batch * c.output_plane();
    product.trans_a = true, product.trans_b = false, product.finish = Activation::none;
  }
  product.lda = product.trans_a ? product.m : product.k;
  product.ldb = product.trans_b ? product.k : product.n;
  product.ldc = product.n;
  return product;
}

namespace {

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  const Conv2d c = parse_conv2d(p);
  if (!c.covers_input()) return refuse("the window does not cover the whole input");
  if (c.groups != 1) return refuse("grouped");
  return product_tiles().accepts(conv2d_as_product(p, target), target);
}

std::size_t workspace(const Problem& p, const Target& target) {
  const Product product = conv2d_as_product(p, target);
  const ProductKernel kernel = product_chosen(product, target);
  return kernel.workspace == nullptr ? 0 : kernel.workspace(product, target);
}

Work work(const Problem& p, const Target& target) {
  const Product product = conv2d_as_product(p, target);
  return product_chosen(product, target).work(product, target, least_work(p, target));
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext& context) {
  const Product product = conv2d_as_product(p, context.target);
  Launcher run = product_chosen(product, context.target).prepare(product, context);
  if (p.op != "conv2d_grad_weight") return run;
  return [run = std::move(run)](const LaunchArgs& a) {
    const void* const factors[] = {a.inputs[1], a.inputs[0]};
    run({factors, a.outputs, a.workspace, a.stream});
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_as_linear() {
  return {.name = "cuda:as_linear",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace,
          .layouts = Layouts::alike};
}

}  // namespace headroom
