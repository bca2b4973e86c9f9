#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/constant_data.h"

namespace headroom::onnx {

class File;
class TensorProto;

// The floats of a tensor; nothing if it has none, or cannot be read: its readers report that.
std::optional<ConstantData> floats_of(const File& file, const TensorProto& tensor);

// A float tensor that a file stores.
struct Stored {
  std::string name;
  ConstantData elements;
  bool initializer = false;  // false: in a Constant node
  bool generated = false;    // by ConstantOfShape: one number, and the shape depends on sizes
  bool is_number() const { return elements.count() == 1; }
};

// All of them, also those of branches. PyTorch stores equal tensors once and names the others by Identity
// nodes, so that all fresh biases become one. Such copies are listed as tensors of their own.
std::vector<Stored> stored_tensors(const File& file);

}  // namespace headroom::onnx
