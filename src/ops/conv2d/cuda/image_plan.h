#pragma once

#include <optional>

#include "ops/conv2d/cuda/image_mma.h"
#include "ops/conv2d/cuda/shared.h"

namespace headroom {

// Null where the image, or a band of its rows, does not fit into shared memory beside the weights. `split`:
// exact fp32, in parts.
std::optional<cuda::ImagePlan> image_plan(const cuda::Sweep& sweep, bool split, const Target& target);
std::optional<cuda::ImagePlan> image_weight_plan(const cuda::Sweep& sweep, const Target& target);

}  // namespace headroom
