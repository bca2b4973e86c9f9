#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/shape.h"

namespace headroom::onnx {

// Inputs of a file, weights left out: what each open dimension is called, by axis; "" where the file says its
// size.
struct OpenInput {
  std::string name;
  std::vector<std::string> symbols;
};
std::vector<OpenInput> open_inputs(const std::string& path);

// The sizes of open dimensions that arrays for these inputs decide, by the inputs' names; where two arrays
// disagree the first is taken, and the network will refuse the other.
std::map<std::string, std::int64_t> sizes_by(const std::vector<OpenInput>& inputs,
                                             const std::map<std::string, Shape>& arrays);

}  // namespace headroom::onnx
