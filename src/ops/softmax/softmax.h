#pragma once

#include "ops/operator.h"

namespace headroom {

// softmax(x; axis = -1) and log_softmax(x; axis = -1) along one axis; softmax_grad(dy, y) and
// log_softmax_grad(dy, y) need only the output.
std::vector<Operator> softmax_operators();

// The tensor as [outer, length, inner]; the sums run along the middle.
struct SoftmaxProblem {
  std::int64_t outer = 1, length = 1, inner = 1;
  bool log = false, backward = false;
  std::int64_t rows() const { return outer * inner; }
};
SoftmaxProblem softmax_problem(const Problem& problem);

OpSchema softmax_schema(const std::string& name);

Launcher softmax_reference(const Problem& problem, const LaunchContext&);
Verdict softmax_along_rows(const Problem& problem, const Target&);  // the last axis: inner == 1
Launcher softmax_blocks(const Problem& problem, const LaunchContext&);
Launcher softmax_grad_rows(const Problem& problem, const LaunchContext&);
Launcher softmax_columns(const Problem& problem, const LaunchContext&);
Launcher softmax_grad_columns(const Problem& problem, const LaunchContext&);
Launcher prepare_softmax_cuda(const Problem& problem, const LaunchContext&);  // and its gradient

// y = exp(x - max of its row) for `rows` rows of `columns`, and each row's sum. What softmax and
// cross-entropy share. Rows are taken in blocks so that the exponential runs over one long stretch, however
// short the rows.
template <class T>
void exp_rows(std::int64_t rows, std::int64_t columns, const T* x, T* y, T* maxima, T* sums);

// Rows that exp_rows should be given at once: a block that stays in the first-level cache.
inline constexpr std::int64_t kMaxBlockRows = 128;
std::int64_t block_rows(std::int64_t columns);

}  // namespace headroom
