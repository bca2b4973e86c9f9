// Which convolutions our GPU kernels take, and the workspace they need.
#include <algorithm>
#include <utility>

#include "ops/conv2d/plans.h"

namespace headroom {
namespace {

using cuda::Sweep;

bool is_weight_gradient(const Problem& p) { return p.op == "conv2d_grad_weight"; }

// What both kernels on the tensor cores ask.
Verdict fits_tensor_cores(const Problem& p, const Sweep& s, const Capabilities& capabilities) {
  if (Verdict v = accepts_cuda_floats(p, capabilities); !v.ok) return v;
  if (capabilities.compute_capability < 80) return refuse("its products need compute capability 8.0");
  if (s.groups > 1 && (s.maps < 4 || s.channels < 2))
    return refuse("groups this narrow leave the tensor cores idle");
  return accept();
}

std::int64_t most_elements(const Problem& p) {
  std::int64_t most = 0;
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorType& type : *list) most = std::max(most, type.shape.numel());
  return most;
}

std::size_t weight_sums(const Problem& p, int pieces) {
  const std::size_t element = p.outputs[0].dtype == DType::f64 ? 8 : 4;
  return element * static_cast<std::size_t>(p.outputs[0].shape.numel()) * static_cast<std::size_t>(pieces);
}

}  // namespace

Verdict accepts_conv2d_few(const Problem& p, const Capabilities& capabilities) {
  if (Verdict v = accepts_cuda_floats(p, capabilities); !v.ok) return v;
  const DType dtype = p.outputs[0].dtype;
  if (dtype == DType::f64) return refuse("images are held in fp32");
  if (capabilities.compute_capability < 80) return refuse("its copies need compute capability 8.0");
  const Sweep s = sweep_of(p);
  if ((dtype != DType::f32 || capabilities.tf32) && s.maps > 16 && s.depth() >= 64)
    return refuse("more than 16 maps of 64 products, rounded: the tensor cores pay");
  std::string why;
  const auto plan =
      is_weight_gradient(p) ? few_weight_plan(s, capabilities, why) : few_plan(s, capabilities, why);
  return plan ? accept() : refuse(why);
}

Verdict accepts_conv2d_image(const Problem& p, const Capabilities& capabilities) {
  const Sweep s = sweep_of(p);
  if (Verdict v = fits_tensor_cores(p, s, capabilities); !v.ok) return v;
  if (p.outputs[0].dtype == DType::f64) return refuse("images are held in fp32");
  if (s.maps > 64) return refuse("more than 64 maps in a group: larger tiles pay");
  if (s.out_plane() < 32) return refuse("fewer than 32 outputs per image and map");
  const bool split = p.outputs[0].dtype == DType::f32 && !capabilities.tf32;
  const auto plan =
      is_weight_gradient(p) ? image_weight_plan(s, capabilities) : image_plan(s, split, capabilities);
  if (!plan) return refuse("a band of the image does not fit into shared memory");
  return accept();
}

Verdict accepts_conv2d_implicit(const Problem& p, const Capabilities& capabilities) {
  const Sweep s = sweep_of(p);
  if (Verdict v = fits_tensor_cores(p, s, capabilities); !v.ok) return v;
  if (s.pixels() > 0x7FFF0000LL || s.groups * ((s.maps + 15) / 16) > 65535)
    return refuse("more pixels or groups than its indices count");
  return accept();
}

Verdict accepts_conv2d_cudnn(const Problem& p, const Capabilities& capabilities) {
  if (Verdict v = accepts_cuda_floats(p, capabilities); !v.ok) return v;
  const Conv2d c = parse_conv2d(p);
  if (!capabilities.cudnn) return refuse("cuDNN could not be loaded");
  const bool nhwc = conv2d_layout(p) == Layout::nhwc;
  const DType dtype = p.outputs[0].dtype;
  if (nhwc && (dtype == DType::f64 || (dtype == DType::f32 && !capabilities.tf32)))
    return refuse("exact products are of NCHW");
  if (!nhwc && (c.group_channels() < 64 || c.group_maps() < 64))
    return refuse("fewer than 64 channels or maps in a group: our own kernels are faster");
  const Window2d& w = c.window;
  const auto outputs = [](std::int64_t input, std::int64_t pad, std::int64_t kernel, std::int64_t dilation,
                          std::int64_t stride) {
    const std::int64_t room = input + 2 * pad - (kernel - 1) * dilation - 1;
    return room < 0 ? 0 : room / stride + 1;
  };
  if (outputs(w.input.h, w.pad.h, w.kernel.h, w.dilation.h, w.stride.h) != w.output.h ||
      outputs(w.input.w, w.pad.w, w.kernel.w, w.dilation.w, w.stride.w) != w.output.w)
    return refuse("padding differs at the two ends");
  if (nhwc) return most_elements(p) <= INT32_MAX ? accept() : refuse("elements are counted in 31 bits");
  if (Verdict v = accepts_conv2d_implicit(p, capabilities); !v.ok)
    return v;  // what runs if it has no algorithm
  return accept();
}

Verdict accepts_conv2d_pointwise(const Problem& p, const Capabilities& capabilities) {
  const Conv2d c = parse_conv2d(p);
  if (conv2d_layout(p) != Layout::nhwc || !c.is_pointwise() || c.groups != 1)
    return refuse("no window of one tap over NHWC");
  return accepts_cublaslt(product_of(p, capabilities), capabilities);
}

Problem conv2d_in_nchw(Problem p) {
  for (auto* list : {&p.inputs, &p.outputs})
    for (TensorType& type : *list) type.layout = Layout::nchw;
  return p;
}

bool may_be_turned(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  return conv2d_layout(p) == Layout::nhwc && (c.groups > 1 || c.window.dilation != Extent2d{1, 1});
}

std::size_t workspace_conv2d_turned(const Problem& p, const Capabilities& capabilities) {
  const Problem plain = conv2d_in_nchw(p);
  std::size_t bytes = accepts_conv2d_implicit(plain, capabilities).ok
                          ? workspace_conv2d_implicit(plain, capabilities)
                          : workspace_conv2d_cuda_direct(plain, capabilities);
  for (const TensorType& type : {p.inputs[0], p.inputs[1], p.outputs[0]})
    bytes += align_up(static_cast<std::size_t>(type.bytes()));
  return bytes;
}

// A limit, known without the library: its choice of an algorithm keeps to it.
std::size_t workspace_conv2d_cudnn(const Problem& p, const Capabilities& capabilities) {
  std::size_t other = 0;
  if (conv2d_layout(p) == Layout::nchw)
    other = workspace_conv2d_implicit(p, capabilities);
  else if (may_be_turned(p))
    other = workspace_conv2d_turned(p, capabilities);
  for (const FoldedConv2d& folded : conv2d_folded(p, capabilities))
    other = std::max(other, workspace_conv2d_folded(folded, capabilities));
  if (accepts_conv2d_pointwise(p, capabilities).ok)
    other = std::max(other, workspace_conv2d_cuda_as_linear(p, capabilities));
  // Algorithms for NCHW turn tensors over here; those for NHWC keep sums of parts of the filters' gradients.
  const std::size_t most = std::size_t{conv2d_layout(p) == Layout::nhwc ? 96u : 256u} << 20;
  constexpr std::size_t kLeast = std::size_t{8} << 20;
  std::size_t tensors = 0;
  for (const auto* list : {&p.inputs, &p.outputs})
    for (const TensorType& type : *list) tensors += static_cast<std::size_t>(type.bytes());
  return std::max(std::clamp(4 * tensors, kLeast, most), other);
}

// A window over the whole input makes the convolution a product over the batch, one of a single tap over NHWC
// a product over all places: dw = dy^T x, dx = dy w.
Product product_of(const Problem& p, const Capabilities& capabilities) {
  const Conv2d c = parse_conv2d(p);
  Product product{.dtype = p.outputs[0].dtype,
                  .tf32 = p.outputs[0].dtype == DType::f32 && capabilities.tf32,
                  .m = c.batch * c.output_plane(),
                  .n = c.maps,
                  .k = c.depth(),
                  .bias = c.bias,
                  .finish = static_cast<Finish>(c.activation)};
  product.trans_b = true;
  if (p.op == "conv2d_grad_input") {
    std::swap(product.n, product.k);
    product.trans_b = false, product.finish = Finish::none;
  } else if (is_weight_gradient(p)) {
    product.m = c.maps, product.n = c.depth(), product.k = c.batch * c.output_plane();
    product.trans_a = true, product.trans_b = false, product.finish = Finish::none;
  }
  product.lda = product.trans_a ? product.m : product.k;
  product.ldb = product.trans_b ? product.k : product.n;
  product.ldc = product.n;
  return product;
}

// As in the list of linear.
ProductBy product_by(const Product& product, const Capabilities& capabilities) {
  if (accepts_fp16x3(product, capabilities).ok) return ProductBy::fp16x3;
  if (accepts_tf32x3(product, capabilities).ok) return ProductBy::tiles;
  return accepts_cublaslt(product, capabilities).ok ? ProductBy::cublaslt : ProductBy::tiles;
}

Verdict accepts_conv2d_cuda_as_linear(const Problem& p, const Capabilities& capabilities) {
  if (Verdict v = accepts_cuda_floats(p, capabilities); !v.ok) return v;
  const Conv2d c = parse_conv2d(p);
  if (!c.covers_input()) return refuse("the window does not cover the whole input");
  if (c.groups != 1) return refuse("grouped");
  return accepts_tiles(product_of(p, capabilities), capabilities);
}

std::size_t workspace_conv2d_cuda_as_linear(const Problem& p, const Capabilities& capabilities) {
  const Product product = product_of(p, capabilities);
  switch (product_by(product, capabilities)) {
    case ProductBy::fp16x3:
      return fp16x3_workspace(product, capabilities);
    case ProductBy::cublaslt:
      return cublaslt_workspace(product, capabilities);
    default:
      return tiles_workspace(product, capabilities);
  }
}

std::size_t workspace_conv2d_cuda_direct(const Problem& p, const Capabilities& capabilities) {
  return is_weight_gradient(p) ? weight_sums(p, direct_weight_pieces(sweep_of(p), capabilities)) : 0;
}

std::size_t workspace_conv2d_few(const Problem& p, const Capabilities& capabilities) {
  if (!is_weight_gradient(p)) return 0;
  std::string why;
  const auto plan = few_weight_plan(sweep_of(p), capabilities, why);
  return weight_sums(p, plan ? plan->workers : 1);
}

std::size_t workspace_conv2d_image(const Problem& p, const Capabilities& capabilities) {
  if (!is_weight_gradient(p)) return 0;
  const auto plan = image_weight_plan(sweep_of(p), capabilities);
  return weight_sums(p, plan ? plan->workers : 1);
}

std::size_t workspace_conv2d_implicit(const Problem& p, const Capabilities& capabilities) {
  const Sweep s = sweep_of(p);
  if (is_weight_gradient(p)) return weight_sums(p, implicit_weight_pieces(s, capabilities));
  const int pieces = implicit_pieces(s, capabilities);
  return pieces > 1 ? weight_sums(p, pieces) : 0;
}

}  // namespace headroom
