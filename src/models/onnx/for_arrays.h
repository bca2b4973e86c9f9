#pragma once

// A file's network made to fit the arrays it will be run on.

#include <map>
#include <string>
#include <vector>

#include "data/safetensors.h"
#include "headroom/net.h"

namespace headroom::onnx {

// "net.onnx:sequence=128": a path, and sizes of open dimensions.
struct Spec {
  std::string path;
  std::vector<std::string> sizes;  // name=size
  std::string str() const;
};
Spec parse_spec(const std::string& text);

// Inputs of a file, weights left out: their names, and what they take, "'ids' (batch x sequence int64)".
struct InputText {
  std::string name, takes;
};
std::vector<InputText> input_texts(const std::string& path);
std::vector<std::string> input_names(const std::string& path);

// The network with open dimensions as large as these arrays are, by the inputs' names; where two disagree the
// first counts, and the network will refuse the other. Sizes of the spec go first.
Net fitted_to_shapes(const Spec& spec, const std::vector<NamedTensor>& arrays);

// The same where integers among the arrays must be known before a run, as shapes must: they become part of
// the network, which no longer has these inputs, and leave the list.
Net fitted_to_values(const Spec& spec, std::vector<NamedTensor>& arrays);

}  // namespace headroom::onnx
