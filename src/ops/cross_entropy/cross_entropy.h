#pragma once

#include "ops/operator.h"

namespace headroom {

// cross_entropy(logits[N, C], labels[N]) -> loss[1], probabilities[N, C]
//   loss = -sum over rows of log p[label] / global_batch; global_batch 0 means N. Only the loss has a
//   gradient.
// cross_entropy(logits, labels; correct = 1) -> loss, probabilities, correct[1]: also what count_correct says
// of
//   the same scores. Made by a pass: the scores are read once.
// cross_entropy_grad(dloss[1], probabilities, labels) -> dlogits = dloss * (p - onehot) / global_batch
// A label outside [0, C) makes the loss, and its row of dlogits, NaN.
std::vector<Operator> cross_entropy_operators();

struct CrossEntropyProblem {
  std::int64_t rows = 0, classes = 0;
  double batch = 0;  // what the sum is divided by
};
CrossEntropyProblem cross_entropy_problem(const Problem& problem);
bool counts_correct(const Attrs& attrs);
// The loss, then, where it is asked for, the third output by a kernel of count_correct.
Launcher then_count(Launcher loss, const Problem& problem, const LaunchContext& context,
                    Launcher (*prepare_count)(const Problem&, const LaunchContext&));

OpSchema cross_entropy_schema();
OpSchema cross_entropy_grad_schema();

Launcher cross_entropy_reference(const Problem& problem, const LaunchContext& context);
Launcher cross_entropy_grad_reference(const Problem& problem, const LaunchContext& context);

Launcher cross_entropy_blocks(const Problem& problem, const LaunchContext& context);
std::size_t cross_entropy_workspace(const Problem& problem, const Target& target);
Launcher cross_entropy_grad_vector(const Problem& problem, const LaunchContext& context);

Launcher prepare_cross_entropy_cuda(const Problem& problem, const LaunchContext& context);
Launcher prepare_cross_entropy_grad_cuda(const Problem& problem, const LaunchContext& context);

}  // namespace headroom
