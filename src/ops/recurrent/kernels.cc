// The recurrent operators and their kernels, in order.
#include "ops/recurrent/recurrent.h"

namespace headroom {
namespace recurrent_kernels_cc {
namespace {

// A state of the last step is made of the sums of all steps before it.
double sum_length(const Problem& p) {
  const RecurrentProblem r = recurrent_problem(p);
  return static_cast<double>(4 * r.seq * (r.input + r.hidden));
}

// So is the gradient of the first one, and each weight's is a sum over steps and items.
double grad_sum_length(const Problem& p) {
  const RecurrentProblem r = recurrent_problem(p);
  return static_cast<double>(r.seq * (4 * r.rows() + r.batch));
}

}  // namespace
}  // namespace recurrent_kernels_cc

std::vector<Operator> recurrent_operators() {
  using namespace recurrent_kernels_cc;
  std::vector<Operator> list;
  for (const CellKind kind : {CellKind::lstm, CellKind::gru, CellKind::rnn}) {
    list.push_back({.schema = recurrent_schema(kind),
                    .kernels = {recurrent_cuda_persistent(),
                                recurrent_cuda_steps(),
                                recurrent_cpu_steps(),
                                {.name = "reference", .prepare = recurrent_reference}},
                    .cases = recurrent_cases(kind),
                    .sum_length = sum_length});
    list.push_back({.schema = recurrent_grad_schema(kind),
                    .kernels = {recurrent_grad_cuda_persistent(),
                                recurrent_grad_cuda_steps(),
                                recurrent_grad_cpu_steps(),
                                {.name = "reference", .prepare = recurrent_grad_reference}},
                    .cases = recurrent_grad_cases(kind),
                    .sum_length = grad_sum_length});
  }
  return list;
}

}  // namespace headroom
