#pragma once

// Writes a network as an ONNX file for other programs.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/safetensors.h"
#include "graph/graph.h"

namespace headroom::onnx {

// A forward pass, lowered for inference and not fused, and the file's names for its inputs and outputs.
struct ForwardGraph {
  const Graph* graph = nullptr;
  std::vector<std::pair<std::string, ValueId>> inputs, outputs;
};

// The elements of a parameter, statistic or constant, in its type.
using Elements = std::function<NamedTensor(const Value&)>;

// The file's bytes. `other` is the same network lowered for another batch: an extent that differs between the
// two follows the batch, and the file takes any batch, named "N". Nodes get the names of layers, weights keep
// theirs. Operators that ONNX lacks are refused by name.
std::string file_of(const std::string& name, const ForwardGraph& forward, const ForwardGraph* other,
                    const Elements& elements);

}  // namespace headroom::onnx
