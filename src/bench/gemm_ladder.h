#pragma once

#include "bench/ladder.h"

namespace headroom {

// The rungs of matrix products: those of CPUs, then those of GPUs.
const Ladder& gemm_ladder();

struct GemmSize {
  std::int64_t m = 1, n = 1, k = 1;
  double alpha = 1, beta = 0;
};
double gemm_bytes(const GemmSize& size, DType dtype);  // of all matrices; sizes may be beyond any memory
LadderProblem gemm_ladder_problem(const GemmSize& size, DType dtype);

// With the published times of the same problem.
LadderRun climb_gemm(Device& device, const Machine& machine, const GemmSize& size, DType dtype,
                     LadderOptions options);

}  // namespace headroom
