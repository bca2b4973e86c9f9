#pragma once

#include <string>

#include "train/engine.h"

namespace headroom {

// Writes network and weights as an ONNX file in fp32, for any batch, or for a fixed one if `batch` is not 0
// or the network's own is fixed. Rejects operators that ONNX lacks before it writes anything.
void save_onnx(const Engine& engine, const std::string& path, std::int64_t batch = 0);
void require_onnx(const Net& net, std::int64_t batch = 0);  // rejects now what save_onnx would reject

}  // namespace headroom
