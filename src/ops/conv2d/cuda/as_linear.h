#pragma once

#include "ops/conv2d/conv2d.h"
#include "ops/product/kernels.h"

namespace headroom {

// The product that a window over the whole input, or one tap over NHWC, amounts to. The factors of the
// gradient of the weights are (dy, x).
Product conv2d_as_product(const Problem& problem, const Target& target);

}  // namespace headroom
