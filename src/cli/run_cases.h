#pragma once

#include <string>

#include "cli/options.h"
#include "data/tensor_values.h"

namespace headroom::cli {

// Runs every model below a folder on the data beside it: prints a line each and counts; fails if one fails.
void run_cases(const std::string& folder, const Common& common, const Tolerance& tolerance);

}  // namespace headroom::cli
