#pragma once

// What the convolutions for GPUs share without a device: the problem as they see it, the machine, and the
// parts of accepts, work and workspace that are the same for several of them.

#include "ops/conv2d/conv2d.h"
#include "ops/conv2d/cuda/sweep.h"

namespace headroom {

cuda::Sweep sweep_of(const Problem& problem);  // for conv2d_grad_weight: of the forward product

inline bool is_weight_gradient(const Problem& p) { return p.op == "conv2d_grad_weight"; }
inline bool is_exact_fp32(const Problem& p, const Target& target) {
  return p.outputs[0].dtype == DType::f32 && !target.policy.tf32;
}

// Shared memory of one block at the most; a multiprocessor has 1 KiB more, and keeps 1 KiB for each block.
int shared_bytes(const Target& target);
int processors(const Target& target);

// Groups of few channels and maps leave tensor cores, and the library's tiles, idle.
Verdict has_wide_groups(const cuda::Sweep& sweep);
// Kernels on the tensor cores ask this of every problem.
Verdict fits_tensor_cores(const Problem& problem, const cuda::Sweep& sweep, const Target& target);

// The product that a convolution amounts to, whichever of the three it is.
ProductExtent extent_of(const Problem& problem);
// Products of an element inside the image and a weight, for all channels and maps.
double products_inside(const cuda::Sweep& sweep);
// Elements of a channel that the windows of an image's pixels see, summed over blocks of neighbouring pixels.
double elements_seen(const cuda::Sweep& sweep, int block);
// FLOPs of a kernel that leaves out products with padding: of them, and of the bias.
double flops_inside(const Problem& problem);
// The name of a time model, by the arithmetic.
std::string_view by_arithmetic(const Problem& problem, const Target& target, std::string_view fp32,
                               std::string_view tf32, std::string_view fp64, std::string_view narrow);
// Sums of parts: the workspace for the output in `pieces`, and the launch that adds them up.
std::size_t bytes_of_pieces(const Problem& problem, int pieces);
Work with_pieces(const Problem& problem, Work work, std::size_t workspace);

// Kernels that the kernel "cudnn" runs where the library has none.
Kernel conv2d_cuda_as_linear();
Kernel conv2d_cuda_implicit_gemm();
Kernel conv2d_cuda_direct();

}  // namespace headroom
