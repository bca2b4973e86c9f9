// Order is policy: a window over the whole input is a plain product; groups of one channel have a kernel of
// their own; small layers run with images in lanes, others with pixels in lanes; what is left is unrolled.
#include <algorithm>

#include "ops/conv2d/conv2d.h"
#include "ops/cpu/gemm.h"

#if defined(HEADROOM_HAS_CUDA) && defined(HEADROOM_HAS_CUDNN)
#define HEADROOM_CUDNN(prepare) prepare
#else
#define HEADROOM_CUDNN(prepare) nullptr
#endif

namespace headroom {
namespace {

Work as_linear_work(const Problem& p, const Capabilities& capabilities) {
  const Conv2d c = parse_conv2d(p);
  Work work = least_work(p, capabilities);
  work.efficiency = gemm_efficiency(c.batch, c.maps, c.depth());
  return work;
}

Work lanes_work(const Problem& p, const Capabilities& capabilities) {
  const Conv2d c = parse_conv2d(p);
  Work work = least_work(p, capabilities);
  // Inputs and outputs are written once more in lane order; sums live in registers, so the inner loop is all
  // products.
  work.bytes *= 2;
  work.efficiency = 0.6 * double(c.group_maps()) / (double(c.group_maps()) + 1);
  return work;
}

Work im2col_work(const Problem& p, const Capabilities& capabilities) {
  const Conv2d c = parse_conv2d(p);
  Work work = least_work(p, capabilities);
  const auto element = double(size_of(p.outputs[0].dtype));
  if (!c.is_pointwise())  // the unrolled matrix is written once and read once
    work.bytes +=
        2 * element * double(c.batch) * double(c.groups) * double(c.depth()) * double(c.output_plane());
  work.efficiency = gemm_efficiency(c.group_maps(), c.output_plane(), c.depth());
  return work;
}

std::vector<Kernel> kernels() {
  return {
      {.name = "cuda:as_linear",
       .device = DeviceKind::cuda,
       .accepts = accepts_conv2d_cuda_as_linear,
       .prepare = HEADROOM_CUDA(prepare_conv2d_cuda_as_linear),
       .workspace = workspace_conv2d_cuda_as_linear,
       .layouts = Layouts::alike},
      {.name = "cuda:few_channels",
       .device = DeviceKind::cuda,
       .accepts = accepts_conv2d_few,
       .prepare = HEADROOM_CUDA(prepare_conv2d_cuda_few),
       .workspace = workspace_conv2d_few},
      {.name = "cudnn",
       .device = DeviceKind::cuda,
       .accepts = accepts_conv2d_cudnn,
       .prepare = HEADROOM_CUDNN(prepare_conv2d_cudnn),
       .workspace = workspace_conv2d_cudnn,
       .layouts = Layouts::alike},
      {.name = "cuda:image_mma",
       .device = DeviceKind::cuda,
       .accepts = accepts_conv2d_image,
       .prepare = HEADROOM_CUDA(prepare_conv2d_cuda_image),
       .workspace = workspace_conv2d_image},
      {.name = "cuda:implicit_gemm",
       .device = DeviceKind::cuda,
       .accepts = accepts_conv2d_implicit,
       .prepare = HEADROOM_CUDA(prepare_conv2d_cuda_implicit),
       .workspace = workspace_conv2d_implicit},
      {.name = "cuda:direct",
       .device = DeviceKind::cuda,
       .accepts = accepts_cuda_floats,
       .prepare = HEADROOM_CUDA(prepare_conv2d_cuda_direct),
       .workspace = workspace_conv2d_cuda_direct},
      {.name = "cpu:as_linear",
       .accepts = accepts_conv2d_as_linear,
       .work = as_linear_work,
       .prepare = prepare_conv2d_as_linear},
      {.name = "cpu:depthwise",
       .accepts = accepts_conv2d_depthwise,
       .work = work_conv2d_depthwise,
       .prepare = prepare_conv2d_depthwise,
       .workspace = workspace_conv2d_depthwise},
      {.name = "cpu:batch_lanes",
       .accepts = accepts_conv2d_lanes,
       .work = lanes_work,
       .prepare = prepare_conv2d_lanes,
       .workspace = workspace_conv2d_lanes},
      {.name = "cpu:pixel_lanes",
       .accepts = accepts_conv2d_pixels,
       .work = work_conv2d_pixels,
       .prepare = prepare_conv2d_pixels,
       .workspace = workspace_conv2d_pixels},
      {.name = "cpu:im2col_gemm",
       .work = im2col_work,
       .prepare = prepare_conv2d_im2col,
       .workspace = workspace_conv2d_im2col},
      {.name = "reference", .prepare = prepare_conv2d_reference},
  };
}

std::vector<Kernel> block_kernels() {
  return {
      {.name = "cpu:depthwise",
       .accepts = accepts_conv2d_depthwise,
       .work = work_conv2d_depthwise,
       .prepare = prepare_conv2d_depthwise,
       .workspace = workspace_conv2d_depthwise},
      {.name = "cpu:pixel_lanes",
       .accepts = accepts_conv2d_pixels,
       .work = work_conv2d_pixels,
       .prepare = prepare_conv2d_pixels,
       .workspace = workspace_conv2d_pixels},
      {.name = "reference", .prepare = prepare_conv2d_reference},
  };
}

// A pixel in the middle is in more windows than one at the edge, which the mean of the cost does not tell.
double longest_grad_input_sum(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  const double longest = double(c.group_maps() * c.taps());
  const double mean = double(c.output_image()) * double(c.depth()) / double(c.input_image());
  return std::max(0.0, longest - mean);
}

}  // namespace

std::vector<Operator> conv2d_operators() {
  return {
      {.schema = {.name = "conv2d", .infer = infer_conv2d, .cost = cost_conv2d, .gradient = gradient_conv2d},
       .kernels = kernels(),
       .cases = conv2d_cases("conv2d"),
       .exact = true},
      {.schema = {.name = "conv2d_grad_input",
                  .infer = infer_conv2d_grad_input,
                  .cost = cost_conv2d,
                  .gradient = gradient_conv2d_grad_input},
       .kernels = kernels(),
       .cases = conv2d_cases("conv2d_grad_input"),
       .exact = true,
       .sum_length = longest_grad_input_sum},
      {.schema = {.name = "conv2d_grad_weight", .infer = infer_conv2d_grad_weight, .cost = cost_conv2d},
       .kernels = kernels(),
       .cases = conv2d_cases("conv2d_grad_weight"),
       .exact = true},
      {.schema = {.name = "conv2d_block", .infer = infer_conv2d_block, .cost = cost_conv2d},
       .kernels = block_kernels(),
       .cases = conv2d_block_cases()}};
}

}  // namespace headroom
