#pragma once

#include "ops/matmul/matmul.h"

namespace headroom {

// By the matrix library, and a pass for the slope.
inline Work matmul_gemm_work(const Problem& problem, const Target& target) {
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  Work work = least_work(problem, target);
  work.with("cpu.gemm", ordinary_unit(problem.outputs[0].dtype),
            {p.folds() ? p.m * p.count() : p.m, p.n, p.k});
  if (matmul_slope(problem.attrs) != Activation::none) work.add_bytes(2 * double(problem.outputs[0].bytes()));
  return work;
}

}  // namespace headroom
