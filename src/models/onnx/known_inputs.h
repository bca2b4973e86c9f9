#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "models/layers.h"

namespace headroom::onnx {

// The elements of an input, in a file as tensor_file.h reads them.
struct KnownInput {
  std::string name;
  std::filesystem::path tensor;
};

// The network of a file some of whose inputs are known beforehand, as if they were stored in it: shapes and
// axes, on which the shapes of what is computed depend. They are inputs no longer.
Net read_knowing(const std::filesystem::path& model, const std::vector<KnownInput>& known);

}  // namespace headroom::onnx
