#pragma once

#include <algorithm>

#include "ops/operator.h"

namespace headroom {

// squared_error(prediction, target) -> loss[1]: the mean of (prediction - target)^2 over all elements, both
// of shape [N, …]. global_batch g > 0: divided by g rows instead of the N here. squared_error_grad(dloss[1],
// a, b) = dloss * 2 (a - b) / count: towards the prediction, and with a and b exchanged towards the target.
// one_hot(labels[N]; classes, dtype = "fp32") -> [N, classes]: 1 in the label's column, else 0. A label
// outside [0, classes) makes its row NaN.
std::vector<Operator> squared_error_operators();

struct ErrorProblem {
  // Summed in chunks of fixed size, then in order: the same bits for any number of threads.
  static constexpr std::int64_t kChunk = 8192;
  std::int64_t n = 0;
  double count = 0;  // what the sum is divided by
  std::int64_t chunks() const { return (n + kChunk - 1) / kChunk; }
  std::int64_t blocks() const { return std::clamp<std::int64_t>(n / 4096, 1, 1024); }  // of a GPU
};
ErrorProblem error_problem(const Problem& problem);

OpSchema one_hot_schema();
Launcher one_hot_reference(const Problem& problem, const LaunchContext&);
Launcher one_hot_rows(const Problem& problem, const LaunchContext&);

Launcher prepare_squared_error_cuda(const Problem& problem, const LaunchContext&);
Launcher prepare_squared_error_grad_cuda(const Problem& problem, const LaunchContext&);
Launcher prepare_one_hot_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
