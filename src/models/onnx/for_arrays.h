#pragma once

// Adapts a file's network to the arrays it will run on.

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

// Inputs of a file without its weights: their names and types, "'ids' (batch x sequence int64)".
struct InputText {
  std::string name, takes;
};
std::vector<InputText> input_texts(const std::string& path);
std::vector<std::string> input_names(const std::string& path);

// Outputs whose integers we hold in a wider type than the file declares, with NumPy's name of its type: "i2".
std::map<std::string, std::string> narrow_outputs(const std::string& path);

// Sets open dimensions to the sizes of these arrays, by input name. If two arrays disagree, the first counts
// and the network will refuse the other. Sizes in the spec have priority.
Net fitted_to_shapes(const Spec& spec, const std::vector<NamedTensor>& arrays);

// The same if elements of some arrays must be known before a run: integers, such as shapes, or also short
// lists of floats and truth values, such as scales. They become part of the network, which loses these
// inputs, and leave the list. So do arrays without elements.
enum class Known { integers, short_lists };
Net fitted_to_values(const Spec& spec, std::vector<NamedTensor>& arrays, Known known);

}  // namespace headroom::onnx
