#pragma once

// Small ONNX files, written message by message.

#include <string>
#include <vector>

#include "models/onnx/onnx.pb.h"

namespace headroom::onnx::testing {

struct ModelMaker {
  ModelProto model;
  GraphProto& graph;

  explicit ModelMaker(std::int64_t opset = 13) : graph(*model.mutable_graph()) {
    model.set_ir_version(8);
    model.add_opset_import()->set_version(opset);
    graph.set_name("small");
  }

  static void set_type(ValueInfoProto& info, const std::string& name, const std::vector<std::string>& dims,
                       int type) {
    info.set_name(name);
    auto& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::string& d : dims) {
      auto& dim = *tensor.mutable_shape()->add_dim();
      const bool number = !d.empty() && d.find_first_not_of("-0123456789") == std::string::npos;
      if (number) dim.set_dim_value(std::stoll(d));
      if (!number && !d.empty()) dim.set_dim_param(d);  // empty text: open without a name
    }
  }
  // Sizes are numbers or names.
  void input(const std::string& name, const std::vector<std::string>& dims, int type = TensorProto::FLOAT) {
    set_type(*graph.add_input(), name, dims, type);
  }
  void output(const std::string& name, const std::vector<std::string>& dims = {},
              int type = TensorProto::FLOAT) {
    set_type(*graph.add_output(), name, dims, type);
  }

  NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs) {
    NodeProto& made = *graph.add_node();
    made.set_op_type(op);
    for (const std::string& name : inputs) made.add_input(name);
    for (const std::string& name : outputs) made.add_output(name);
    return made;
  }

  static void set(NodeProto& node, const std::string& name, std::int64_t value) {
    AttributeProto& a = attribute(node, name, AttributeProto::INT);
    a.set_i(value);
  }
  static void set(NodeProto& node, const std::string& name, const std::vector<std::int64_t>& values) {
    AttributeProto& a = attribute(node, name, AttributeProto::INTS);
    for (const std::int64_t value : values) a.add_ints(value);
  }
  static void set(NodeProto& node, const std::string& name, const std::string& value) {
    attribute(node, name, AttributeProto::STRING).set_s(value);
  }
  static AttributeProto& attribute(NodeProto& node, const std::string& name,
                                   AttributeProto::AttributeType type) {
    AttributeProto& a = *node.add_attribute();
    a.set_name(name);
    a.set_type(type);
    return a;
  }

  TensorProto& floats(const std::string& name, const std::vector<std::int64_t>& dims,
                      const std::vector<float>& values) {
    TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::FLOAT);
    for (std::int64_t d : dims) tensor.add_dims(d);
    tensor.set_raw_data(values.data(), values.size() * sizeof(float));
    return tensor;
  }
  TensorProto& integers(const std::string& name, const std::vector<std::int64_t>& values) {
    TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(TensorProto::INT64);
    tensor.add_dims(static_cast<std::int64_t>(values.size()));
    for (std::int64_t v : values) tensor.add_int64_data(v);
    return tensor;
  }

  std::string bytes() const { return model.SerializeAsString(); }
};

}  // namespace headroom::onnx::testing
