#pragma once

// Small networks over sequences, for tests of what training changes.

#include <gtest/gtest.h>

#include <functional>

#include "base/random.h"
#include "models/onnx/file.h"
#include "models/onnx/imported.h"
#include "models/onnx/learned.h"
#include "models/onnx/testing/model_maker.h"
#include "train/program.h"

namespace headroom::onnx::testing {

using Floats = std::vector<float>;
using Dims = std::vector<std::int64_t>;

inline std::int64_t count_of(const Dims& dims) {
  std::int64_t n = 1;
  for (std::int64_t d : dims) n *= d;
  return n;
}

inline Floats filled(const Dims& dims, const std::function<double(std::int64_t)>& f) {
  Floats values;
  for (std::int64_t i = 0; i < count_of(dims); ++i) values.push_back(static_cast<float>(f(i)));
  return values;
}

inline Floats learned_values(const Dims& dims) {
  const Philox random(3, 5);
  return filled(dims, [&](std::int64_t i) { return 0.3 * random.normal(static_cast<std::uint64_t>(i)); });
}

// x [N, 8, 16] goes through a dense layer to e [N, 8, 16], from there to h by the nodes of a test, and to 10
// classes.
struct Sequence : ModelMaker {
  Sequence() {
    input("x", {"N", "8", "16"});
    floats("W", {16, 16}, learned_values({16, 16}));
    node("MatMul", {"x", "W"}, {"e"});
  }
  void store(const std::string& name, const Dims& dims) { floats(name, dims, learned_values(dims)); }
  void attribute(NodeProto& node, const std::string& name, const Dims& list) {
    AttributeProto& a = *node.add_attribute();
    a.set_name(name), a.set_type(AttributeProto::INTS);
    for (std::int64_t v : list) a.add_ints(v);
  }
  void attribute(NodeProto& node, const std::string& name, std::int64_t value) {
    AttributeProto& a = *node.add_attribute();
    a.set_name(name), a.set_type(AttributeProto::INT), a.set_i(value);
  }
  void constant(const std::string& name, const Dims& dims, const Floats& values) {
    AttributeProto& a = *node("Constant", {}, {name}).add_attribute();
    a.set_name("value"), a.set_type(AttributeProto::TENSOR);
    a.mutable_t()->set_data_type(TensorProto::FLOAT);
    for (std::int64_t d : dims) a.mutable_t()->add_dims(d);
    a.mutable_t()->set_raw_data(values.data(), values.size() * sizeof(float));
  }
  Net net() {
    if (graph.output_size() == 0) {
      NodeProto& mean = node("ReduceMean", {"h"}, {"m"});
      attribute(mean, "axes", Dims{1}), attribute(mean, "keepdims", std::int64_t{0});
      store("H", {16, 10});
      node("MatMul", {"m", "H"}, {"y"});
      output("y", {"N", "10"});
    }
    const auto file = std::make_shared<const ImportedGraph>(File::parse(bytes(), "small.onnx"),
                                                            std::map<std::string, std::int64_t>{});
    Net made(file->name(), file->item());
    made.imported = file;
    return made;
  }
};

// The verdict, and the training program: what is learned is a parameter with a gradient, under its own name.
inline void expect_learned(Sequence& m, const std::string& name, bool learned, const std::string& why = "") {
  const Net net = m.net();
  const Verdict& verdict = net.imported->tensors().at(name);
  EXPECT_EQ(verdict.learned, learned) << name << ": " << verdict.reason;
  EXPECT_NE(verdict.reason.find(why), std::string::npos) << verdict.reason;
  const Program p = make_program(net, {.mode = Mode::train, .batch = 2, .fusion = Fusion::none});
  const ValueId id = p.graph.find(name);
  EXPECT_EQ(id != kNone && p.graph.value(id).role == Role::parameter, learned) << name;
  EXPECT_EQ(p.graph.find(name + ".gradient") != kNone, learned) << name;
  for (ValueId other : p.graph.with_role(Role::parameter))
    EXPECT_NE(p.graph.find(p.graph.value(other).name + ".gradient"), kNone) << p.graph.value(other).name;
  EXPECT_TRUE(net.imported->tensors().at("W").learned);
}

}  // namespace headroom::onnx::testing
