#pragma once

// Graphs of one ONNX node each with onnxruntime's results: what tests/golden/make_onnx_*.py wrote.

#include <cmath>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "data/tensor_values.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::testing {

inline const Json& onnx_cases() {
  static const Json all = [] {
    Json list = Json::array();
    for (const char* name : {"onnx_operators.json", "onnx_quantized.json", "onnx_detection.json",
                             "onnx_volumes.json", "onnx_control.json", "onnx_signals.json"})
      for (Json& c :
           Json::parse(read_file(std::filesystem::path(HEADROOM_SOURCE_DIR) / "tests" / "golden" / name)))
        list.push_back(std::move(c));
    return list;
  }();
  return all;
}

inline DType dtype_named(const std::string& name) {
  if (name == "float32") return DType::f32;
  if (name == "int64") return DType::i64;
  if (name == "uint8") return DType::u8;
  if (name == "int8") return DType::i8;
  return name == "int32" ? DType::i32 : DType::boolean;
}
inline int number_of(DType dtype) {
  using onnx::TensorProto;
  if (is_8bit(dtype)) return dtype == DType::u8 ? TensorProto::UINT8 : TensorProto::INT8;
  return dtype == DType::f32   ? TensorProto::FLOAT
         : dtype == DType::i64 ? TensorProto::INT64
         : dtype == DType::i32 ? TensorProto::INT32
                               : TensorProto::BOOL;
}

inline double number(const Json& json) {
  if (json.is_number()) return json.get<double>();
  const std::string text = json.get<std::string>();
  return text == "nan" ? std::nan("") : text == "inf" ? INFINITY : -INFINITY;
}

inline NamedTensor tensor_of(const Json& json) {
  std::vector<double> values;
  for (const Json& v : json["data"]) values.push_back(number(v));
  const Shape shape(json["shape"].get<std::vector<std::int64_t>>());
  NamedTensor wide{json["name"], {shape, DType::f64}, {}};
  wide.bytes.resize(values.size() * sizeof(double));
  if (!values.empty()) std::memcpy(wide.bytes.data(), values.data(), wide.bytes.size());
  return as_type(wide, dtype_named(json["type"]));
}

inline void set_attribute(onnx::NodeProto& node, const std::string& name, const Json& value) {
  using onnx::AttributeProto;
  AttributeProto& a = *node.add_attribute();
  a.set_name(name);
  if (value.is_number_integer()) {
    a.set_type(AttributeProto::INT), a.set_i(value.get<std::int64_t>());
  } else if (value.is_number()) {
    a.set_type(AttributeProto::FLOAT), a.set_f(value.get<float>());
  } else if (value.is_string()) {
    a.set_type(AttributeProto::STRING), a.set_s(value.get<std::string>());
  } else if (value.is_object()) {
    const std::string digits = value["graph"].get<std::string>();
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
      bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
    a.set_type(AttributeProto::GRAPH), a.mutable_g()->ParseFromString(bytes);
  } else if (value[0].is_number_integer()) {
    a.set_type(AttributeProto::INTS);
    for (const Json& v : value) a.add_ints(v.get<std::int64_t>());
  } else if (value[0].is_number()) {
    a.set_type(AttributeProto::FLOATS);
    for (const Json& v : value) a.add_floats(v.get<float>());
  } else {
    a.set_type(AttributeProto::STRINGS);
    for (const Json& v : value) a.add_strings(v.get<std::string>());
  }
}

// `all_stored`: the inputs are initialisers of the file, so that the reader computes the node itself.
inline onnx::ModelProto model_of(const Json& c, bool all_stored) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  onnx::OperatorSetIdProto& set = *model.add_opset_import();
  set.set_domain(""), set.set_version(c["opset"].get<std::int64_t>());
  const std::string op = c["op"].get<std::string>(), domain = c.value("domain", "");
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name("one node");
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op), node.set_name("tested");
  if (!domain.empty()) {
    node.set_domain(domain);
    onnx::OperatorSetIdProto& own = *model.add_opset_import();
    own.set_domain(domain), own.set_version(1);
  }
  for (const Json& name : c["reads"]) node.add_input(name.get<std::string>());
  for (const auto& [name, value] : c["attributes"].items()) set_attribute(node, name, value);
  const auto store = [&](const Json& json) {
    const NamedTensor tensor = tensor_of(json);
    onnx::TensorProto& to = *graph.add_initializer();
    to.set_name(tensor.name), to.set_data_type(number_of(tensor.type.dtype));
    for (std::int64_t d : tensor.type.shape.dims()) to.add_dims(d);
    to.set_raw_data(tensor.bytes.data(), tensor.bytes.size());
  };
  for (const Json& json : c["stored"]) store(json);
  const auto declare = [&](const std::string& name, int type, const std::vector<std::int64_t>& dims) {
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(name);
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    for (std::int64_t d : dims) tensor.mutable_shape()->add_dim()->set_dim_value(d);
    tensor.mutable_shape();  // for a scalar too
  };
  for (const Json& json : c["inputs"])
    if (all_stored)
      store(json);
    else
      declare(json["name"], number_of(dtype_named(json["type"])), json["shape"]);
  if (graph.input().empty()) declare("unused", onnx::TensorProto::FLOAT, {1});  // a network needs an input
  for (const Json& json : c["outputs"]) {
    node.add_output(json["name"].get<std::string>());
    graph.add_output()->set_name(json["name"].get<std::string>());
  }
  return model;
}

}  // namespace headroom::testing
