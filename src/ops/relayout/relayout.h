#pragma once

#include "ops/operator.h"

namespace headroom {

// relayout(x; layout, to, scale): x of rank 4 in the other layout, "nhwc" or "nchw"; its shape and its values
// stay. `to`: also another float type, after a product with `scale`, as cast does. Passes insert it where
// kernels of different layouts meet, after gradients were made: it has none.
std::vector<Operator> relayout_operators();

// Either way, for each of `batch` images, a matrix is transposed.
struct Transposition {
  std::int64_t batch = 1, rows = 1, columns = 1;  // of x
};
Transposition transposition_of(const Problem& problem);

Launcher prepare_relayout_cuda(const Problem& problem, const LaunchContext&);

}  // namespace headroom
