#pragma once

#include "ops/cpu/strided_copy.h"
#include "ops/cuda/copy.h"

namespace headroom::cuda {

// The axes of a copy in the order that suits the device: runs where both layouts have them, tiles where they
// run along different axes, and where one of these is short, along the other.
BoxCopy box_of(const StridedCopy& copy);

}  // namespace headroom::cuda
