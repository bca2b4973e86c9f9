#pragma once

// The rules of the format that a written file could break: names that are defined once and before they are
// read, and for each operator its inputs, outputs and attributes, from the operator's definition.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "models/onnx/onnx.pb.h"

namespace headroom::testing {

struct OperatorRule {
  int least_inputs, most_inputs, most_outputs;
  std::set<std::string> attributes;
};

inline constexpr int kAnyNumber = 1 << 20;

inline const std::map<std::string, OperatorRule>& operator_rules() {
  const std::set<std::string> window = {"auto_pad", "dilations", "kernel_shape", "pads", "strides"};
  const auto with = [](std::set<std::string> set, const std::set<std::string>& more) {
    set.insert(more.begin(), more.end());
    return set;
  };
  const std::set<std::string> cell = {"activation_alpha", "activation_beta", "activations", "clip",
                                      "direction",        "hidden_size",     "layout"};
  static const std::map<std::string, OperatorRule> rules = [&] {
    std::map<std::string, OperatorRule> all = {
        {"ArgMax", {1, 1, 1, {"axis", "keepdims", "select_last_index"}}},
        {"ArgMin", {1, 1, 1, {"axis", "keepdims", "select_last_index"}}},
        {"AveragePool", {1, 1, 1, with(window, {"ceil_mode", "count_include_pad"})}},
        {"BatchNormalization", {5, 5, 3, {"epsilon", "momentum", "training_mode"}}},
        {"Cast", {1, 1, 1, {"to"}}},
        {"Clip", {1, 3, 1, {}}},
        {"Concat", {1, kAnyNumber, 1, {"axis"}}},
        {"Constant", {0, 0, 1, {"value"}}},
        {"Conv", {2, 3, 1, with(window, {"group"})}},
        {"ConvInteger", {2, 4, 1, with(window, {"group"})}},
        {"ConvTranspose", {2, 3, 1, with(window, {"group", "output_padding", "output_shape"})}},
        {"CumSum", {2, 2, 1, {"exclusive", "reverse"}}},
        {"DequantizeLinear", {2, 3, 1, {"axis", "block_size"}}},
        {"Elu", {1, 1, 1, {"alpha"}}},
        {"Gather", {2, 2, 1, {"axis"}}},
        {"Gelu", {1, 1, 1, {"approximate"}}},
        {"Gemm", {2, 3, 1, {"alpha", "beta", "transA", "transB"}}},
        {"GRU", {3, 6, 2, with(cell, {"linear_before_reset"})}},
        {"HardSigmoid", {1, 1, 1, {"alpha", "beta"}}},
        {"LayerNormalization", {2, 3, 3, {"axis", "epsilon", "stash_type"}}},
        {"LeakyRelu", {1, 1, 1, {"alpha"}}},
        {"LogSoftmax", {1, 1, 1, {"axis"}}},
        {"LRN", {1, 1, 1, {"alpha", "beta", "bias", "size"}}},
        {"LSTM", {3, 8, 3, with(cell, {"input_forget"})}},
        {"MatMulInteger", {2, 4, 1, {}}},
        {"Max", {1, kAnyNumber, 1, {}}},
        {"MaxPool", {1, 1, 2, with(window, {"ceil_mode", "storage_order"})}},
        {"Min", {1, kAnyNumber, 1, {}}},
        {"Mod", {2, 2, 1, {"fmod"}}},
        {"Pad", {2, 4, 1, {"mode"}}},
        {"QuantizeLinear", {2, 3, 1, {"axis", "block_size"}}},
        {"Reshape", {2, 2, 1, {"allowzero"}}},
        {"Resize",
         {1,
          4,
          1,
          {"antialias", "axes", "coordinate_transformation_mode", "cubic_coeff_a", "exclude_outside",
           "extrapolation_value", "keep_aspect_ratio_policy", "mode", "nearest_mode"}}},
        {"RNN", {3, 6, 2, cell}},
        {"Slice", {3, 5, 1, {}}},
        {"Softmax", {1, 1, 1, {"axis"}}},
        {"Split", {1, 2, kAnyNumber, {"axis", "num_outputs"}}},
        {"Transpose", {1, 1, 1, {"perm"}}},
        {"Where", {3, 3, 1, {}}}};
    for (const char* op :
         {"Abs",           "Ceil",      "Cos",      "Erf",  "Exp", "Floor",    "GlobalAveragePool",
          "GlobalMaxPool", "HardSwish", "Identity", "Log",  "Neg", "Not",      "Reciprocal",
          "Relu",          "Round",     "Sigmoid",  "Sign", "Sin", "Softplus", "Sqrt",
          "Tanh"})
      all[op] = {1, 1, 1, {}};
    for (const char* op : {"Add", "And", "Div", "Equal", "Expand", "Greater", "GreaterOrEqual", "Less",
                           "LessOrEqual", "MatMul", "Mul", "Or", "Pow", "Sub", "Xor"})
      all[op] = {2, 2, 1, {}};
    for (const char* op :
         {"Tan", "Asin", "Acos", "Atan", "Sinh", "Cosh", "Asinh", "Acosh", "Atanh", "NonZero"})
      all[op] = {1, 1, 1, {}};
    for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"}) all[op] = {2, 2, 1, {}};
    all["ScatterND"] = {3, 3, 1, {"reduction"}};
    all["TopK"] = {2, 2, 2, {"axis", "largest", "sorted"}};
    all["NonMaxSuppression"] = {2, 5, 1, {"center_point_box"}};
    all["GridSample"] = {2, 2, 1, {"align_corners", "mode", "padding_mode"}};
    all["RoiAlign"] = {3,
                       3,
                       1,
                       {"coordinate_transformation_mode", "mode", "output_height", "output_width",
                        "sampling_ratio", "spatial_scale"}};
    all["Shape"] = {1, 1, 1, {"end", "start"}};
    return all;
  }();
  return rules;
}

// Axes of a reduction became an input with opset 13 (ReduceSum) and 18.
inline OperatorRule rule_of(const std::string& op, std::int64_t opset) {
  if (op.starts_with("Reduce")) {
    if (op == "ReduceSum" || opset >= 18) return {1, 2, 1, {"keepdims", "noop_with_empty_axes"}};
    return {1, 1, 1, {"axes", "keepdims"}};
  }
  const auto it = operator_rules().find(op);
  if (it == operator_rules().end()) ADD_FAILURE() << "no rule for " << op;
  return it == operator_rules().end() ? OperatorRule{0, kAnyNumber, kAnyNumber, {}} : it->second;
}

inline onnx::ModelProto expect_keeps_rules(const std::string& bytes) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(bytes));
  const onnx::GraphProto& graph = model.graph();
  const std::int64_t opset = model.opset_import(0).version();
  EXPECT_EQ(model.ir_version(), opset <= 18 ? 8 : opset <= 20 ? 9 : 10) << "for opset " << opset;
  std::set<std::string> known, nodes;
  const auto define = [&](const std::string& name) {
    EXPECT_TRUE(name.empty() || known.insert(name).second) << "'" << name << "' is defined twice";
  };
  for (const onnx::ValueInfoProto& input : graph.input()) define(input.name());
  for (const onnx::TensorProto& tensor : graph.initializer()) define(tensor.name());
  for (const onnx::NodeProto& node : graph.node()) {
    SCOPED_TRACE(node.op_type() + " '" + node.name() + "'");
    EXPECT_TRUE(nodes.insert(node.name()).second);
    const OperatorRule rule = rule_of(node.op_type(), opset);
    for (int i = 0; i < node.input_size(); ++i)
      EXPECT_TRUE(known.contains(node.input(i)) || (node.input(i).empty() && i >= rule.least_inputs))
          << "input " << i << ": '" << node.input(i) << "'";
    EXPECT_GE(node.input_size(), rule.least_inputs);
    EXPECT_LE(node.input_size(), rule.most_inputs);
    EXPECT_LE(node.output_size(), rule.most_outputs);
    EXPECT_FALSE(node.output(0).empty());
    for (const onnx::AttributeProto& a : node.attribute())
      EXPECT_TRUE(rule.attributes.contains(a.name())) << "attribute " << a.name();
    for (const std::string& name : node.output()) define(name);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) EXPECT_TRUE(known.contains(output.name()));
  return model;
}

}  // namespace headroom::testing
