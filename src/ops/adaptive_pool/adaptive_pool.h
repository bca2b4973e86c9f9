#pragma once

#include "ops/operator.h"
#include "ops/reduce/cuda/stage.h"

namespace headroom {

// adaptive_avg_pool(x; output), adaptive_max_pool(x; output): NCHW to output = [h, w] whatever the input's
// size. Window i of n covers the elements from floor(i m / n) to ceil((i + 1) m / n) of m, so that windows
// overlap where n does not divide m.
// global_avg_pool(x), global_max_pool(x): one window over all axes from the third on, which become 1.
// Their gradients: adaptive_avg_pool_grad(dy; output, input_shape), adaptive_max_pool_grad(dy, x; output); no
// output: global.
// Maximum: NaN is larger than any number; of equal elements the first in row order alone gets the gradient.
std::vector<Operator> adaptive_pool_operators();

struct AdaptiveAxis {
  std::int64_t input = 1, output = 1;
  std::int64_t begin(std::int64_t i) const { return i * input / output; }
  std::int64_t end(std::int64_t i) const { return ((i + 1) * input + output - 1) / output; }
};

struct AdaptiveProblem {
  std::int64_t planes = 1;
  AdaptiveAxis rows, columns;  // global: one row of all elements
  std::int64_t input_plane() const { return rows.input * columns.input; }
  std::int64_t output_plane() const { return rows.output * columns.output; }
  bool global() const { return output_plane() == 1; }
};
AdaptiveProblem adaptive_problem(const Problem& problem);  // of any of the operators

Launcher adaptive_reference(const Problem& problem, const LaunchContext&);

// Rows of a window first, in vectors; what is left is as wide as the input.
Verdict accepts_adaptive_rows(const Problem& problem, const Target&);
Launcher adaptive_avg_rows(const Problem& problem, const LaunchContext&);
Launcher adaptive_max_rows(const Problem& problem, const LaunchContext&);
Launcher adaptive_avg_grad_rows(const Problem& problem, const LaunchContext&);
Launcher adaptive_max_grad_planes(const Problem& problem, const LaunchContext&);

// On a GPU: the windows of pool/cuda.h; one window over a whole plane is a reduction.
Launcher prepare_adaptive_pool_cuda(const Problem& problem, const LaunchContext&);
std::vector<cuda::ReduceStage> adaptive_global_stages(const AdaptiveProblem& problem);

}  // namespace headroom
