#pragma once

#include "ops/attention/attention.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/attention/cuda/launch.h"
#endif

namespace headroom {

inline bool is_backward(const Problem& p) { return p.op == "attention_grad"; }

// Scratch for the gradient, one number per row: the workspace of all GPU kernels.
std::size_t along_bytes(const Problem& problem, const Target& target);

// What kernels execute, for their accounts. Scores of all heads where blocks that own `own` rows meet the
// others in tiles of `loop`, whether seen or not; and those that are seen.
double computed_scores(const AttentionProblem& problem, std::int64_t own, std::int64_t loop, bool owns_keys);
double seen_scores(const AttentionProblem& problem);
// FLOPs of the compiler's exponential: range reduction and, in fp64, a polynomial.
constexpr double exp_flops(DType dtype) { return dtype == DType::f64 ? 29 : 10; }
double along_flops(const AttentionProblem& problem);  // of the sums of dy * y, a warp for each row

// Backward computes scores and their gradients twice over on a GPU. The shares of the peak are estimates.
Work attention_gpu_work(const Problem& problem, const Target& target, std::string_view family, Unit unit);

#ifdef HEADROOM_HAS_CUDA
using AttentionRun = void (*)(DType, const cuda::AttentionShape&, const cuda::AttentionData&, cudaStream_t);
Launcher attention_launcher(const Problem& problem, AttentionRun run);  // of either operator
#endif

}  // namespace headroom
