#pragma once

// The algorithms behind the kernel "cudnn", by name: those of the library's older interface
// ("algorithm_1.fma": its number and its arithmetic), those that the heuristics of its newer one rank
// ("heuristic_0" first), and what may stand in for the library.

#include <span>

#include "ops/conv2d/conv2d.h"

namespace headroom {

inline constexpr const char* kSuggested = "suggested";         // the library's own first choice
inline constexpr const char* kFusedBias = "algorithm_1.bias";  // bias and activation in the same kernel
inline constexpr const char* kHeuristic = "heuristic_";
inline constexpr const char* kAsProduct = "matrix_product";   // one tap: by cuBLASLt or our own products
inline constexpr const char* kNchwCopies = "nchw_copies";     // our own kernels, between copies in NCHW
inline constexpr const char* kOwnImplicit = "implicit_gemm";  // see own_convolution
inline constexpr int kMaxHeuristics = 16;

enum class CudnnMath { tensor, fma, convert };
std::span<const int> cudnn_algorithms(std::string_view op);  // those that sum products, by their number
std::string cudnn_algorithm_name(int algorithm, CudnnMath math);

// Our own kernel for where the library has no algorithm: products by tensor cores, or the direct one on GPUs
// that lack the instructions for them.
const Kernel& own_convolution(const Problem& problem, const Target& target);

// A limit, known without the library: its choice of an algorithm keeps to it.
std::size_t cudnn_workspace(const Problem& problem, const Target& target);

// convolve.cc, in builds with the library's headers.
Launcher prepare_conv2d_cudnn(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
