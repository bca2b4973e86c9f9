#pragma once

#include <optional>

#include "ops/conv2d/cuda/block_mma.h"
#include "ops/conv2d/cuda/shared.h"

namespace headroom {

cuda::BlockShape block_shape(const Conv2d& conv);
// Of the gradient of its input, for strides of 1: a convolution of dy, with more padding.
cuda::BlockShape block_gradient_shape(const Conv2d& conv);

// What block_mma and pair_mma ask of every problem: type, device, and what follows the convolution.
Verdict accepts_block(const Problem& problem, const Target& target);

// Null where a band of the image does not fit into shared memory beside the weights, or an index would
// overflow; `why` then says so. `split`: exact fp32, in parts.
std::optional<cuda::BlockPlan> block_plan(const cuda::BlockShape& shape, bool split, const Target& target,
                                          std::string& why);

}  // namespace headroom
