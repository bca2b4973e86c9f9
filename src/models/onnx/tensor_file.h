#pragma once

#include <filesystem>

#include "data/safetensors.h"

namespace headroom::onnx {

// One tensor in its own file, the form of inputs and outputs in ONNX's test suites (input_0.pb). Integer
// types we lack are widened, as in a model.
NamedTensor read_tensor(const std::filesystem::path& path);
void write_tensor(const std::filesystem::path& path, const NamedTensor& tensor);  // atomic, by rename

}  // namespace headroom::onnx
