#pragma once

#include "ops/cpu/tensor_list.h"
#include "ops/operator.h"

namespace headroom {

// sgd(lr, then p, g [, m] of each tensor; momentum, nesterov, penalized, l2) -> p' [, m'] of each, in place.
//   g' = g + l2 * p where penalized
//   without momentum: p' = p - lr * g'
//   with momentum:    m' = momentum * m + g';  p' = p - lr * (nesterov ? g' + momentum * m' : m')
// m is present when momentum > 0. lr is a scalar in fp64, read at each launch.
std::vector<Operator> sgd_operators();

struct SgdProblem {
  TensorList tensors;
  std::vector<double> l2;  // per tensor
  double momentum = 0;
  bool nesterov = false;
  std::size_t stride() const { return momentum > 0 ? 3 : 2; }  // inputs per tensor; outputs are one less

  // Where tensor i's values are in the lists of inputs and outputs.
  std::size_t in(std::size_t i) const { return 1 + i * stride(); }
  std::size_t out(std::size_t i) const { return i * (stride() - 1); }
};
SgdProblem sgd_problem(const Problem& problem);

OpSchema sgd_schema();
Launcher sgd_reference(const Problem& problem, const Capabilities&);
Launcher sgd_one_pass(const Problem& problem, const Capabilities&);

}  // namespace headroom
