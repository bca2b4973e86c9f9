#pragma once

#include <string>

#include "cli/options.h"
#include "data/tensor_values.h"

namespace headroom::cli {

// Every model below a folder on the data beside it: a line each, counts, and an error where one failed.
void run_cases(const std::string& folder, const Common& common, const Tolerance& tolerance);

}  // namespace headroom::cli
