#pragma once

#include "ops/activation/activation.h"
#include "ops/operator.h"
#include "ops/window.h"

namespace headroom {

// max_pool(x), max_pool_grad(dy, x, y), avg_pool(x), avg_pool_grad(dy; input_shape), all NCHW.
// Maximum: padding counts as -infinity; NaN is larger than any number; of equal elements the first in row
// order is the maximum, and alone receives the gradient. A window that sees only padding yields -infinity.
// max_pool_grad with activation_grad = relu, sigmoid or tanh: x came from that function, and what it received
// is multiplied by its slope, so that the result is the gradient before the activation.
// Mean: count_include_pad divides by the elements of the window that lie on the input or its padding, else by
// those on the input; what hangs over the padding in ceil_mode never counts.
std::vector<Operator> pool_operators();

struct PoolProblem {
  std::int64_t planes = 0;  // N * C
  Window2d window;
  bool count_include_pad = false;
  Activation slope = Activation::none;  // behind max_pool_grad
  std::int64_t input_plane() const { return window.input.h * window.input.w; }
  std::int64_t output_plane() const { return window.output.h * window.output.w; }
};

// Of any of the four operators.
PoolProblem pool_problem(const Problem& problem);
// One pixel lies alike in either layout, so any of the tensors may be the one that tells.
bool pool_is_nhwc(const Problem& problem);

OpSchema max_pool_schema();
OpSchema max_pool_grad_schema();
OpSchema avg_pool_schema();
OpSchema avg_pool_grad_schema();

// The same kernel file serves all four operators and looks at the name once, in prepare.
Launcher pool_reference(const Problem& problem, const Capabilities&);

// 2x2 windows that step by 2 and touch no padding: the hot case of small networks.
Verdict accepts_pool_pairs(const Problem& problem, const Capabilities&);
Launcher max_pool_pairs(const Problem& problem, const Capabilities&);
Launcher max_pool_grad_pairs(const Problem& problem, const Capabilities&);
Launcher avg_pool_pairs(const Problem& problem, const Capabilities&);
Launcher avg_pool_grad_pairs(const Problem& problem, const Capabilities&);

// Any window: rows first, then columns.
Verdict accepts_pool_rows(const Problem& problem, const Capabilities&);
Launcher max_pool_rows(const Problem& problem, const Capabilities&);
Launcher avg_pool_rows(const Problem& problem, const Capabilities&);

// Any window, backwards: each plane on its own.
Verdict accepts_pool_planes(const Problem& problem, const Capabilities&);
Launcher max_pool_grad_planes(const Problem& problem, const Capabilities&);
Launcher avg_pool_grad_planes(const Problem& problem, const Capabilities&);

// On a GPU: pairs as above in one pass, any other window by gathering. Of any of the four operators.
bool covers_by_pairs(const PoolProblem& problem);  // with nothing left over
Verdict accepts_pool_cuda(const Problem& problem, const Capabilities& capabilities);
Launcher prepare_pool_cuda(const Problem& problem, const Capabilities&);
// Where each window has its maximum, between the two passes of max_pool_grad.
std::size_t max_pool_grad_cuda_workspace(const Problem& problem, const Capabilities&);
Work max_pool_grad_cuda_work(const Problem& problem, const Capabilities& capabilities);

// Input elements that one output row (or column) reads, and how many elements divide its mean. Tabulated in
// prepare so that inner loops neither clip nor divide.
struct Taps {
  std::int64_t begin = 0;  // first element read
  std::int64_t count = 0;  // how many, `dilation` apart
  std::int64_t shared = 0;
};
struct TapTables {
  std::vector<Taps> rows, columns;
};
TapTables tap_tables(const PoolProblem& problem);

// Does `next` replace `best` as the maximum found so far?
template <class T>
bool exceeds(T next, T best) {
  return !(next <= best) && best == best;
}

}  // namespace headroom
