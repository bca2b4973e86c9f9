#pragma once

#include <functional>
#include <vector>

#include "ops/conv2d/conv2d.h"

namespace headroom {

// What cuDNN's heuristics suggest for a convolution of NHWC by its newer interface, best first: far more
// kernels than the plain calls reach. Only what sums products, fits the workspace and, where that is asked
// for, repeats to the bit. `finish` follows each. Empty where the library has none, or not this interface.
std::vector<Launcher> cudnn_plans(const Problem& problem, const Capabilities& capabilities,
                                  std::size_t workspace, const Launcher& finish);

}  // namespace headroom
