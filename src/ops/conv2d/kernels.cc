// The kernels of the convolutions, in order. Each is defined in the file of its name, with all that planning
// and running it takes.
#include <algorithm>

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/cuda/rungs.h"

namespace headroom {

Kernel conv2d_cuda_pixel_runs();
Kernel conv2d_cuda_few_channels();
Kernel conv2d_cudnn();
Kernel conv2d_cuda_image_mma();
Kernel conv2d_cuda_block_mma();
Kernel conv2d_cuda_pair_mma();
Kernel conv2d_cpu_bf16();
Kernel conv2d_cpu_bf16x6();
Kernel conv2d_cpu_as_linear();
Kernel conv2d_cpu_depthwise();
Kernel conv2d_cpu_batch_lanes();
Kernel conv2d_cpu_winograd();
Kernel conv2d_cpu_pixel_lanes();
Kernel conv2d_cpu_map_lanes();
Kernel conv2d_cpu_im2col_gemm();
Kernel conv2d_cpu_as_linear_blas();
Kernel conv2d_cpu_im2col_blas();
Kernel conv2d_reference();

namespace conv2d_kernels_cc {
namespace {

// Order is policy: products of bf16 where they are allowed and faster; a window over the whole input is a
// plain product; groups of one channel have a kernel of their own; small layers run with images in lanes;
// windows of 3x3 by Winograd's products where that saves more than it costs; others with pixels in lanes,
// weight gradients with maps in lanes; the rest is unrolled. The rungs of the ladder come after a kernel that
// takes everything, the plainest last: they run by name alone.
std::vector<Kernel> kernels() {
  return {
      conv2d_cuda_as_linear(),
      conv2d_cuda_pixel_runs(),
      conv2d_cuda_few_channels(),
      conv2d_cudnn(),
      conv2d_cuda_image_mma(),
      conv2d_cuda_implicit_gemm(),
      conv2d_cuda_direct(),
      conv2d_cuda_winograd(),
      conv2d_cuda_fft(),
      conv2d_cuda_per_layer(),
      conv2d_cuda_register_matmul(),
      conv2d_cuda_fused_matmul(),
      conv2d_cuda_unroll_streams(),
      conv2d_cuda_unroll_matmul(),
      conv2d_cuda_channel_atomics(),
      conv2d_cuda_channel_tree(),
      conv2d_cuda_block_per_map(),
      conv2d_cuda_block_per_image(),
      conv2d_cuda_shared_tiles(),
      conv2d_cuda_half_storage(),
      conv2d_cuda_constant_unrolled(),
      conv2d_cuda_unrolled(),
      conv2d_cuda_constant_registers(),
      conv2d_cuda_registers(),
      conv2d_cuda_constant(),
      conv2d_cuda_naive(),
      conv2d_cpu_bf16(),
      conv2d_cpu_as_linear(),
      conv2d_cpu_depthwise(),
      conv2d_cpu_batch_lanes(),
      conv2d_cpu_winograd(),
      conv2d_cpu_pixel_lanes(),
      conv2d_cpu_im2col_gemm(),
      conv2d_cpu_bf16x6(),
      conv2d_cpu_as_linear_blas(),
      conv2d_cpu_im2col_blas(),
      conv2d_reference(),
  };
}

std::vector<Kernel> kernels_with_block_mma() {
  std::vector<Kernel> list = kernels();
  list.insert(std::ranges::find(list, "cuda:image_mma", &Kernel::name), conv2d_cuda_block_mma());
  return list;
}

std::vector<Kernel> kernels_with_pair_mma() {
  std::vector<Kernel> list = kernels_with_block_mma();
  list.insert(std::ranges::find(list, "cuda:pixel_runs", &Kernel::name), conv2d_cuda_pair_mma());
  return list;
}

std::vector<Kernel> kernels_with_map_lanes() {
  std::vector<Kernel> list = kernels();
  list.insert(std::ranges::find(list, "cpu:im2col_gemm", &Kernel::name), conv2d_cpu_map_lanes());
  return list;
}

// A pixel in the middle is in more windows than one at the edge, which the mean of the cost does not tell.
double longest_grad_input_sum(const Problem& p) {
  const Conv2d c = parse_conv2d(p);
  const double longest = double(c.group_maps() * c.taps());
  const double mean = double(c.output_image()) * double(c.depth()) / double(c.input_image());
  return std::max(0.0, longest - mean);
}

}  // namespace
}  // namespace conv2d_kernels_cc

std::vector<Operator> conv2d_operators() {
  using namespace conv2d_kernels_cc;
  return {
      {.schema = {.name = "conv2d", .infer = infer_conv2d, .cost = cost_conv2d, .gradient = gradient_conv2d},
       .kernels = kernels_with_pair_mma(),
       .cases = conv2d_cases("conv2d"),
       .exact = true},
      {.schema = {.name = "conv2d_grad_input",
                  .infer = infer_conv2d_grad_input,
                  .cost = cost_conv2d,
                  .gradient = gradient_conv2d_grad_input},
       .kernels = kernels_with_block_mma(),
       .cases = conv2d_cases("conv2d_grad_input"),
       .exact = true,
       .sum_length = longest_grad_input_sum},
      {.schema = {.name = "conv2d_grad_weight", .infer = infer_conv2d_grad_weight, .cost = cost_conv2d},
       .kernels = kernels_with_map_lanes(),
       .cases = conv2d_cases("conv2d_grad_weight"),
       .exact = true},
      {.schema = {.name = "conv2d_block", .infer = infer_conv2d_block, .cost = cost_conv2d},
       .kernels = {conv2d_cuda_pair_mma(), conv2d_cuda_block_mma(), conv2d_cpu_bf16(), conv2d_cpu_depthwise(),
                   conv2d_cpu_winograd(), conv2d_cpu_pixel_lanes(), conv2d_cpu_bf16x6(), conv2d_reference()},
       .cases = conv2d_block_cases()}};
}

}  // namespace headroom
