#pragma once

#include "ops/matmul/matmul.h"

namespace headroom {

// One product, or a batch of them.
inline Work matmul_gemm_work(const Problem& problem, const Target& target) {
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  Work work = least_work(problem, target);
  work.with("cpu.gemm", ordinary_unit(problem.outputs[0].dtype),
            {p.folds() ? p.m * p.count() : p.m, p.n, p.k});
  return work;
}

}  // namespace headroom
