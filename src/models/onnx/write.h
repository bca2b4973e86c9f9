#pragma once

// A network as an ONNX file that other programs run.

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "data/safetensors.h"
#include "graph/graph.h"

namespace headroom::onnx {

// A forward pass, lowered for inference and not fused, and what its ends are called in the file.
struct ForwardGraph {
  const Graph* graph = nullptr;
  std::vector<std::pair<std::string, ValueId>> inputs, outputs;
};

// The elements of a parameter, statistic or constant, in its type.
using Elements = std::function<NamedTensor(const Value&)>;

// The file's bytes. With `other`, the same network lowered for another batch, an extent that differs between
// the two follows the batch: the file takes any, under the name "N". Layers give nodes their names, weights
// keep theirs. What ONNX has no operator for is refused by name.
std::string file_of(const std::string& name, const ForwardGraph& forward, const ForwardGraph* other,
                    const Elements& elements);

}  // namespace headroom::onnx
