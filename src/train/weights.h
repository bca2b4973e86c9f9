#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "train/engine.h"

namespace headroom {

struct SaveOptions {
  std::string spec = {};                          // the model's name with its options, if it has one
  std::optional<DType> precision = {};            // of the file; else the engine's
  std::map<std::string, std::string> facts = {};  // more metadata
};

// Weights to safetensors, with the network they belong to. Returns warnings: a tensor with values beyond the
// range of fp16 stays in fp32, so that nothing is lost.
std::vector<std::string> save_weights(const Engine& engine, const std::string& path,
                                      const SaveOptions& options = {});

// What became of the tensors of a file, and of the model.
struct LoadedWeights {
  std::vector<std::string> loaded;
  std::vector<std::string> fresh;    // of the model: not in the file, or of another shape; with their shapes
  std::vector<std::string> left;     // of the file: not used; with their shapes
  std::vector<std::string> ignored;  // of the file: counters and masks of other programs
};

// From safetensors (fp64, fp32, fp16, bf16) and from MXNet's .params. Needs every tensor of the model, by
// name and shape, and names the first that differs. Rejects weights that were saved from a network that
// computes something else. Changes nothing until everything fits.
LoadedWeights load_weights(Engine& engine, const std::string& path);
// For other classes: the last layer with weights keeps its initial ones, and of the others everything that
// fits is loaded. Rejects a file from which nothing fits.
LoadedWeights load_without_head(Engine& engine, const std::string& path);

// Copies between engines of one network; devices and precisions may differ.
void copy_weights(const Engine& from, Engine& to);

// MXNet numbers layers by kind (new0, fullyconnected1). Its convolutions become the network's convolutions
// and its products the network's linear layers, each in order. Other tensors keep their names.
TensorFile renamed_from_mxnet(TensorFile file, const Net& net);

}  // namespace headroom
