#pragma once

#include <string>

#include "train/engine.h"

namespace headroom {

// The network with the engine's weights as an ONNX file in fp32, for any batch, or for one where `batch` is
// not 0 or the network insists on one. Rejects what ONNX has no operator for before anything is written.
void save_onnx(const Engine& engine, const std::string& path, std::int64_t batch = 0);
void require_onnx(const Net& net, std::int64_t batch = 0);  // rejects now what save_onnx would

}  // namespace headroom
