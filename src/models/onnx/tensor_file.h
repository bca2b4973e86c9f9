#pragma once

#include <filesystem>

#include "data/safetensors.h"

namespace headroom::onnx {

// One tensor in a file of its own, as ONNX's test suites keep inputs and outputs (input_0.pb). Integer types
// there are not here are widened, as in a model.
NamedTensor read_tensor(const std::filesystem::path& path);
void write_tensor(const std::filesystem::path& path, const NamedTensor& tensor);  // aside and renamed

}  // namespace headroom::onnx
