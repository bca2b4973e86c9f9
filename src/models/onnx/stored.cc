#include "models/onnx/stored.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "models/onnx/contents.h"
#include "models/onnx/convert.h"
#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {

std::optional<ConstantData> floats_of(const File& file, const TensorProto& tensor) {
  try {
    ConstantData elements = file.tensor(tensor);
    if (is_float(elements.type.dtype) && elements.count() > 0) return elements;
  } catch (const Unsupported&) {
  }
  return std::nullopt;
}

namespace {

std::optional<ConstantData> elements_of(const File& file, const AttributeProto& attribute) {
  if (attribute.name() == "value" && attribute.has_t()) return floats_of(file, attribute.t());
  if (attribute.name() == "value_float")
    return constant_data({}, std::vector<double>{attribute.f()}, DType::f32);
  if (attribute.name() != "value_floats" || attribute.floats_size() == 0) return std::nullopt;
  const std::vector<double> list(attribute.floats().begin(), attribute.floats().end());
  return constant_data({std::ssize(list)}, list, DType::f32);
}

// "layers.0.norm.bias" and "layers.3.norm.bias": the same place in two layers.
bool differ_in_layer_number(const std::string& a, const std::string& b) {
  const std::vector<std::string> left = split(a, '.'), right = split(b, '.');
  const auto is_number = [](const std::string& part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string::npos;
  };
  if (left.size() != right.size() || a == b) return false;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i] != right[i] && !(is_number(left[i]) && is_number(right[i]))) return false;
  return true;
}

// The original of a copy: another layer's tensor, or one that all layers have before their first training.
const Stored* copied(const std::vector<Stored>& stored, const NodeProto& node) {
  if (node.op_type() != "Identity" || node.input_size() != 1) return nullptr;
  const auto from = std::ranges::find(stored, node.input(0), &Stored::name);
  if (from == stored.end() || !from->initializer || from->is_number()) return nullptr;
  const bool copy = is_uniform(from->elements) || differ_in_layer_number(from->name, node.output(0));
  return copy ? &*from : nullptr;
}

void collect(const File& file, const GraphProto& graph, std::vector<Stored>& stored) {
  for (const TensorProto& tensor : graph.initializer())
    if (auto elements = floats_of(file, tensor)) stored.push_back({tensor.name(), *elements, true});
  for (const NodeProto& node : graph.node()) {
    if (const Stored* original = copied(stored, node))
      stored.push_back({node.output(0), original->elements, true});
    for (const AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect(file, attribute.g(), stored);
      for (const GraphProto& branch : attribute.graphs()) collect(file, branch, stored);
      const bool generates = node.op_type() == "ConstantOfShape";
      if ((node.op_type() != "Constant" && !generates) || node.output_size() != 1) continue;
      if (auto elements = elements_of(file, attribute))
        stored.push_back({node.output(0), *elements, false, generates});
    }
  }
}

}  // namespace

std::vector<Stored> stored_tensors(const File& file) {
  std::vector<Stored> stored;
  collect(file, file.graph(), stored);
  return stored;
}

}  // namespace headroom::onnx
