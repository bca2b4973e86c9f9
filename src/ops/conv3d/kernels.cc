// The kernels of the convolutions over volumes, in order.
#include <algorithm>

#include "ops/conv3d/conv3d.h"

namespace headroom {

Kernel conv3d_cuda_direct();
Kernel conv3d_cpu_im2col_gemm();
Kernel conv3d_reference();

namespace conv3d_kernels_cc {
namespace {

// An element in the middle is in more windows than one at the edge, which the mean of the cost does not tell.
double longest_volume_sum(const Problem& p) {
  const Conv3d c = parse_conv3d(p);
  const double longest = double(c.group_maps() * c.window.taps());
  const double mean =
      double(c.maps * c.window.outputs()) * double(c.depth()) / double(c.channels * c.window.inputs());
  return std::max(0.0, longest - mean);
}

}  // namespace
}  // namespace conv3d_kernels_cc

std::vector<Operator> conv3d_operators() {
  using namespace conv3d_kernels_cc;
  const std::vector<Kernel> kernels = {conv3d_cuda_direct(), conv3d_cpu_im2col_gemm(), conv3d_reference()};
  return {
      {.schema = {.name = "conv3d", .infer = infer_conv3d, .cost = cost_conv3d, .gradient = gradient_conv3d},
       .kernels = kernels,
       .cases = conv3d_cases("conv3d"),
       .exact = true},
      {.schema = {.name = "conv3d_grad_input",
                  .infer = infer_conv3d_grad_input,
                  .cost = cost_conv3d,
                  .gradient = gradient_conv3d_grad_input},
       .kernels = kernels,
       .cases = conv3d_cases("conv3d_grad_input"),
       .exact = true,
       .sum_length = longest_volume_sum},
      {.schema = {.name = "conv3d_grad_weight", .infer = infer_conv3d_grad_weight, .cost = cost_conv3d},
       .kernels = kernels,
       .cases = conv3d_cases("conv3d_grad_weight"),
       .exact = true}};
}

}  // namespace headroom
