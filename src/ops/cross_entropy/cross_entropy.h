#pragma once

#include "ops/operator.h"

namespace headroom {

// cross_entropy(logits[N, C], labels[N]) -> loss[1], probabilities[N, C]
//   loss = -sum over rows of log p[label] / global_batch; global_batch 0 means N. Only the loss has a
//   gradient.
// cross_entropy_grad(dloss[1], probabilities, labels) -> dlogits = dloss * (p - onehot) / global_batch
// A label outside [0, C) makes the loss, and its row of dlogits, NaN.
std::vector<Operator> cross_entropy_operators();

struct CrossEntropyProblem {
  std::int64_t rows = 0, classes = 0;
  double batch = 0;  // what the sum is divided by
};
CrossEntropyProblem cross_entropy_problem(const Problem& problem);

OpSchema cross_entropy_schema();
OpSchema cross_entropy_grad_schema();

Launcher cross_entropy_reference(const Problem& problem, const Capabilities&);
Launcher cross_entropy_grad_reference(const Problem& problem, const Capabilities&);

Launcher cross_entropy_blocks(const Problem& problem, const Capabilities&);
std::size_t cross_entropy_workspace(const Problem& problem, const Capabilities&);
Launcher cross_entropy_grad_vector(const Problem& problem, const Capabilities&);

Launcher prepare_cross_entropy_cuda(const Problem& problem, const Capabilities&);
Launcher prepare_cross_entropy_grad_cuda(const Problem& problem, const Capabilities&);

}  // namespace headroom
