#pragma once

#include "bench/ladder.h"

namespace headroom {

// The check of gemm without transpositions. Some rows, first and last among them, are computed in fp64 and
// compared element by element: the error figures come from these. Of products in fp64 these rows are computed
// in long double. For every element of the output there is a sum with random signs (Freivalds): neighbouring
// elements of a row, so many that the fp64 work stays below `budget_flops`, are added up with signs on both
// sides. A small product is computed as a whole.
std::unique_ptr<LadderCheck> gemm_check(const Problem& problem, const std::vector<HostTensor>& inputs,
                                        const Policy& policy, double budget_flops = 2e9);

}  // namespace headroom
