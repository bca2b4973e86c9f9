#pragma once

#include "ops/operator.h"

namespace headroom {

// local_contrast_norm(x; kernel 9) of an NCHW tensor, by a Gaussian window of `kernel` by `kernel` (odd) over
// all channels whose weights sum to one. It has no kernel yet; its floor can be predicted.
//   subtractive: v = x - window(x)
//   divisive:    y = v / max(mean of s, s), s = sqrt(window(v^2)), one s for all channels of a pixel
std::vector<Operator> local_contrast_norm_operators();

}  // namespace headroom
