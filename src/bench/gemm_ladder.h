#pragma once

#include "bench/ladder.h"

namespace headroom {

// The rungs of matrix products: those of CPUs, then those of GPUs.
const Ladder& gemm_ladder();

struct GemmSize {
  std::int64_t m = 1, n = 1, k = 1;
  double alpha = 1, beta = 0;
};
LadderProblem gemm_ladder_problem(const GemmSize& size, DType dtype);

LadderRun climb_gemm(Device& device, const Machine& machine, const GemmSize& size, DType dtype,
                     LadderOptions options);

}  // namespace headroom
