#pragma once

#include <filesystem>

#include "data/safetensors.h"

namespace headroom {

// MXNet's parameter files (.params): dense arrays, then their names. "arg:" and "aux:", which tell weights
// from running statistics, are taken off the names. Read with every length checked; other storage (sparse),
// other versions of the format and element types without a counterpart here are rejected.
TensorFile read_mxnet_params(const std::filesystem::path& path);

// For parsing without a file; `where` names the source in error messages.
TensorFile parse_mxnet_params(std::string_view bytes, std::string_view where);

}  // namespace headroom
