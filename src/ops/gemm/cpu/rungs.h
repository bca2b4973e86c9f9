#pragma once

// What the CPU kernels of gemm share: how a sum reaches the output, and what their inner loops load.

#include "ops/gemm/gemm.h"

namespace headroom {

// out[at] by the sum of its products.
template <class T>
inline T gemm_scaled(const GemmProblem& p, T sum, const T* add, std::int64_t at) {
  const T scaled = static_cast<T>(p.alpha) * sum;
  return p.adds() ? scaled + static_cast<T>(p.beta) * add[at] : scaled;
}

// The minimum work, and `loads` elements per multiply-add that the inner loops ask the caches for.
inline Work gemm_cpu_work(const Problem& problem, const Target& target, std::string_view family,
                          double loads) {
  const GemmProblem p = gemm_problem(problem.inputs, problem.attrs);
  Work work = least_work(problem, target);
  work.with(family, ordinary_unit(problem.outputs[0].dtype), {p.m, p.n, p.k});
  work.main().l2_bytes =
      loads * double(p.m) * double(p.n) * double(p.k) * double(size_of(problem.outputs[0].dtype));
  return work;
}

}  // namespace headroom
