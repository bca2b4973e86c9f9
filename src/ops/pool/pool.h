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

OpSchema max_pool_schema();
OpSchema max_pool_grad_schema();
OpSchema avg_pool_schema();
OpSchema avg_pool_grad_schema();
std::vector<Case> pool_cases(std::string_view op);

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
