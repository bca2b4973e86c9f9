#include "models/onnx/functions.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {
namespace {

NodeProto node(const std::string& op, const std::vector<std::string>& in, const std::vector<std::string>& out,
               const std::string& domain = "") {
  NodeProto n;
  n.set_op_type(op), n.set_domain(domain);
  for (const std::string& name : in) n.add_input(name);
  for (const std::string& name : out) n.add_output(name);
  return n;
}

void refer(NodeProto& n, const std::string& name, const std::string& to) {
  AttributeProto& a = *n.add_attribute();
  a.set_name(name), a.set_ref_attr_name(to), a.set_type(AttributeProto::FLOAT);
}

void set(google::protobuf::RepeatedPtrField<AttributeProto>& list, const std::string& name, float value) {
  AttributeProto& a = *list.Add();
  a.set_name(name), a.set_f(value), a.set_type(AttributeProto::FLOAT);
}

FunctionProto& function(ModelProto& model, const std::string& name, const std::vector<std::string>& in,
                        const std::vector<std::string>& out, std::int64_t opset = 17) {
  FunctionProto& f = *model.add_functions();
  f.set_name(name), f.set_domain("local");
  for (const std::string& i : in) f.add_input(i);
  for (const std::string& o : out) f.add_output(o);
  f.add_opset_import()->set_version(opset);
  return f;
}

ModelProto model_with(const std::vector<NodeProto>& nodes) {
  ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  OperatorSetIdProto& local = *model.add_opset_import();
  local.set_domain("local"), local.set_version(1);
  for (const NodeProto& n : nodes) *model.mutable_graph()->add_node() = n;
  model.mutable_graph()->add_input()->set_name("x");
  model.mutable_graph()->add_output()->set_name("y");
  return model;
}

std::vector<std::string> listed(const ModelProto& model) {
  const auto file = File::parse(model.SerializeAsString(), "f.onnx");
  std::vector<std::string> list;
  for (const NodeProto& n : file->graph().node()) {
    std::string text = n.op_type();
    for (const std::string& name : n.input()) text += " " + name;
    for (const std::string& name : n.output()) text += " > " + name;
    for (const AttributeProto& a : n.attribute()) text += fmt::format(" {}={}", a.name(), a.f());
    if (n.has_own_opset()) text += fmt::format(" opset {}", n.own_opset());
    list.push_back(text);
  }
  return list;
}

using Texts = std::vector<std::string>;

TEST(OnnxFunctions, ABodyReplacesTheCallAndTakesItsAttributes) {
  NodeProto call = node("F", {"x"}, {"y"}, "local");
  call.set_name("call");
  set(*call.mutable_attribute(), "slope", 0.25F);
  ModelProto model = model_with({call});
  FunctionProto& f = function(model, "F", {"a", "absent"}, {"b"});
  NodeProto& leaky = *f.add_node() = node("LeakyRelu", {"a"}, {"t"});
  refer(leaky, "alpha", "slope");
  NodeProto& clip = *f.add_node() = node("Clip", {"t", "absent"}, {"b"});
  refer(clip, "none", "missing");
  EXPECT_EQ(listed(model), (Texts{"LeakyRelu x > call/t alpha=0.25", "Clip call/t  > y"}));
}

TEST(OnnxFunctions, DefaultsNestingAndOverloads) {
  NodeProto call = node("Outer", {"x"}, {"y"}, "local");
  ModelProto model = model_with({call});
  FunctionProto& outer = function(model, "Outer", {"a"}, {"b"});
  *outer.add_node() = node("Inner", {"a"}, {"t"}, "local");
  NodeProto& other = *outer.add_node() = node("Inner", {"t"}, {"b"}, "local");
  other.set_overload("second");
  FunctionProto& inner = function(model, "Inner", {"a"}, {"b"});
  set(*inner.mutable_attribute_proto(), "alpha", 0.5F);
  NodeProto& elu = *inner.add_node() = node("Elu", {"a"}, {"b"});
  refer(elu, "alpha", "alpha");
  FunctionProto& second = function(model, "Inner", {"a"}, {"b"}, 11);
  second.set_overload("second");
  *second.add_node() = node("Relu", {"a"}, {"b"});
  EXPECT_EQ(listed(model), (Texts{"Elu x > Outer_1/t alpha=0.5", "Relu Outer_1/t > y opset 11"}));
}

TEST(OnnxFunctions, TwoCallsDoNotShareNamesAndAnInputMayBeReturned) {
  ModelProto model = model_with({node("F", {"x"}, {"u", "v"}, "local"), node("F", {"u"}, {"y"}, "local")});
  FunctionProto& f = function(model, "F", {"a"}, {"b", "a"});
  *f.add_node() = node("Relu", {"a"}, {"t"});
  *f.add_node() = node("Relu", {"t"}, {"b"});
  EXPECT_EQ(listed(model), (Texts{"Relu x > F_1/t", "Relu F_1/t > u", "Identity x > v", "Relu u > F_2/t",
                                  "Relu F_2/t > y"}));
}

TEST(OnnxFunctions, RejectsAFunctionThatCallsItselfAndTooManyInputs) {
  ModelProto model = model_with({node("F", {"x"}, {"y"}, "local")});
  FunctionProto& f = function(model, "F", {"a"}, {"b"});
  *f.add_node() = node("G", {"a"}, {"b"}, "local");
  FunctionProto& g = function(model, "G", {"a"}, {"b"});
  *g.add_node() = node("F", {"a"}, {"b"}, "local");
  EXPECT_THROW(listed(model), Error);
  ModelProto many = model_with({node("F", {"x", "x"}, {"y"}, "local")});
  *function(many, "F", {"a"}, {"b"}).add_node() = node("Relu", {"a"}, {"b"});
  EXPECT_THROW(listed(many), Error);
}

TEST(OnnxFile, RefusesOperatorSetsThatItDoesNotKnow) {
  ModelProto model = model_with({node("Relu", {"x"}, {"y"})});
  model.mutable_opset_import(0)->set_version(28);
  EXPECT_EQ(listed(model).size(), 1u);
  model.mutable_opset_import(0)->set_version(29);
  EXPECT_THROW(listed(model), Error);
}

}  // namespace
}  // namespace headroom::onnx
