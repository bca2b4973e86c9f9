#pragma once

#include <string>

#include "cli/options.h"

namespace headroom::cli {

// Registers, spills, occupancy and instructions of this program's kernels whose names contain `part`, by
// NVIDIA's cuobjdump. Needs no GPU.
void describe_code(const Common& common, const std::string& part);

}  // namespace headroom::cli
