#pragma once

// What the kernels share: bias and activation behind a product, and the work of one by the matrix library.

#include <algorithm>

#include "ops/cpu/parallel.h"
#include "ops/linear/linear.h"

namespace headroom::linear {

// Bias and activation in one pass over the product while it is still in a cache.
template <class T>
void finish_rows(const LinearProblem& l, const T* bias, T* y) {
  if (bias == nullptr && l.activation == Activation::none) return;
  parallel_for(l.rows, std::max<std::int64_t>(1, kElementwiseGrain / l.out),
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t n = begin; n < end; ++n) {
                   T* row = y + n * l.out;
                   if (bias != nullptr)
                     for (std::int64_t m = 0; m < l.out; ++m) row[m] += bias[m];
                   apply_activation(l.activation, l.out, row, row);
                 }
               });
}

inline Work gemm_work(const Problem& p, const Target& target) {
  const LinearProblem l = linear_problem(p.inputs, p.attrs);
  Work work = least_work(p, target);
  work.with("cpu.gemm", ordinary_unit(p.outputs[0].dtype), {l.rows, l.out, l.in});
  if (l.bias || l.activation != Activation::none) work.add_bytes(2 * double(p.outputs[0].bytes()));
  return work;
}

}  // namespace headroom::linear
