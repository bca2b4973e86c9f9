#pragma once

#include <optional>

#include "ops/conv2d/cuda/block_plan.h"
#include "ops/conv2d/cuda/pair_mma.h"

namespace headroom {

// Null where the shape is not one for it; `why` then says so. `split`: exact fp32, in parts.
std::optional<cuda::PairPlan> pair_plan(const cuda::BlockShape& shape, bool split, const Target& target,
                                        std::string& why);

}  // namespace headroom
