#pragma once

#include <filesystem>

#include "data/safetensors.h"

namespace headroom {

// MXNet's parameter files (.params): dense arrays, then their names. The prefixes "arg:" and "aux:", which
// mark weights and running statistics, are removed. Checks every length. Rejects other storage (sparse),
// other versions of the format and element types without a counterpart here.
TensorFile read_mxnet_params(const std::filesystem::path& path);

// For parsing without a file; `where` names the source in error messages.
TensorFile parse_mxnet_params(std::string_view bytes, std::string_view where);

}  // namespace headroom
