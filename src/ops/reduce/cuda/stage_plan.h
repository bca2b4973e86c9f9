#pragma once

// A reduction as launches on a GPU. Built everywhere: a plan asks for its workspace without a toolkit.

#include "ops/reduce/cuda/stage.h"
#include "ops/reduce/reduce.h"

namespace headroom {

std::vector<cuda::ReduceStage> stages_of(const ReduceProblem& problem);
// Elements between the stages, in the type they are summed in.
std::int64_t between_stages(const std::vector<cuda::ReduceStage>& stages);

}  // namespace headroom
