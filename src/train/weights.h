#pragma once

#include <string>

#include "data/safetensors.h"
#include "train/engine.h"

namespace headroom {

// Weights to and from safetensors, and from MXNet's .params. Loading needs all of them, by name and shape,
// and names the first that differs.
void save_weights(const Engine& engine, const std::string& path);
void load_weights(Engine& engine, const std::string& path);
// Copies between engines of one network; devices and precisions may differ.
void copy_weights(const Engine& from, Engine& to);

// MXNet numbers layers by kind (new0, fullyconnected1). Its convolutions become the network's convolutions
// and its products the network's linear layers, each in order. Other tensors keep their names.
TensorFile renamed_from_mxnet(TensorFile file, const Net& net);

}  // namespace headroom
