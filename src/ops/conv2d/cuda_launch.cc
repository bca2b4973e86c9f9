// The launchers of our own GPU kernels, bound to a problem.
#include "ops/conv2d/cuda.h"
#include "ops/conv2d/plans.h"
#include "ops/cuda/launch.h"

namespace headroom {
namespace {

const void* bias_of(const LaunchArgs& a, bool bias) { return bias ? a.inputs[2] : nullptr; }

}  // namespace

Launcher prepare_conv2d_cuda_direct(const Problem& p, const Capabilities& capabilities) {
  const cuda::Sweep s = sweep_of(p);
  const DType dtype = p.outputs[0].dtype;
  if (p.op == "conv2d_grad_weight")
    return [dtype, s, pieces = direct_weight_pieces(s, capabilities)](const LaunchArgs& a) {
      cuda::conv2d_direct_weight(dtype, s, pieces, a.inputs[0], a.inputs[1], a.outputs[0], a.workspace,
                                 cuda::stream_of(a));
    };
  return [dtype, s, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_direct(dtype, s, a.inputs[0], a.inputs[1], bias_of(a, bias), a.outputs[0],
                        cuda::stream_of(a));
  };
}

Launcher prepare_conv2d_cuda_as_linear(const Problem& p, const Capabilities& capabilities) {
  const Product product = product_of(p, capabilities);
  const ProductBy by = product_by(product, capabilities);
  Launcher run = by == ProductBy::fp16x3     ? prepare_product_fp16x3(product, capabilities)
                 : by == ProductBy::cublaslt ? prepare_product_cublaslt(product, capabilities)
                                             : prepare_product_tiles(product, capabilities);
  if (p.op != "conv2d_grad_weight") return run;
  return [run = std::move(run)](const LaunchArgs& a) {
    const void* const factors[] = {a.inputs[1], a.inputs[0]};
    run({factors, a.outputs, a.workspace, a.stream});
  };
}

Launcher prepare_conv2d_cuda_few(const Problem& p, const Capabilities& capabilities) {
  const cuda::Sweep s = sweep_of(p);
  const DType dtype = p.outputs[0].dtype;
  std::string why;
  if (p.op == "conv2d_grad_weight")
    return [dtype, s, plan = few_weight_plan(s, capabilities, why).value()](const LaunchArgs& a) {
      cuda::conv2d_few_weight(dtype, s, plan, a.inputs[0], a.inputs[1], a.outputs[0], a.workspace,
                              cuda::stream_of(a));
    };
  return [dtype, s, plan = few_plan(s, capabilities, why).value(),
          bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_few(dtype, s, plan, a.inputs[0], a.inputs[1], bias_of(a, bias), a.outputs[0],
                     cuda::stream_of(a));
  };
}

Launcher prepare_conv2d_cuda_image(const Problem& p, const Capabilities& capabilities) {
  const cuda::Sweep s = sweep_of(p);
  const DType dtype = p.outputs[0].dtype;
  const bool tf32 = capabilities.tf32;
  if (p.op == "conv2d_grad_weight")
    return [dtype, tf32, s, plan = image_weight_plan(s, capabilities).value()](const LaunchArgs& a) {
      cuda::conv2d_image_weight(dtype, tf32, s, plan, a.inputs[0], a.inputs[1], a.outputs[0], a.workspace,
                                cuda::stream_of(a));
    };
  return [dtype, tf32, s, plan = image_plan(s, dtype == DType::f32 && !tf32, capabilities).value(),
          bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_image(dtype, tf32, s, plan, a.inputs[0], a.inputs[1], bias_of(a, bias), a.outputs[0],
                       cuda::stream_of(a));
  };
}

Launcher prepare_conv2d_cuda_implicit(const Problem& p, const Capabilities& capabilities) {
  const cuda::Sweep s = sweep_of(p);
  const DType dtype = p.outputs[0].dtype;
  const bool tf32 = capabilities.tf32;
  if (p.op == "conv2d_grad_weight")
    return [dtype, tf32, s, pieces = implicit_weight_pieces(s, capabilities)](const LaunchArgs& a) {
      cuda::conv2d_implicit_weight(dtype, tf32, s, pieces, a.inputs[0], a.inputs[1], a.outputs[0],
                                   a.workspace, cuda::stream_of(a));
    };
  return [dtype, tf32, s, pieces = implicit_pieces(s, capabilities),
          bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_implicit(dtype, tf32, s, pieces, a.inputs[0], a.inputs[1], bias_of(a, bias), a.outputs[0],
                          a.workspace, cuda::stream_of(a));
  };
}

}  // namespace headroom
