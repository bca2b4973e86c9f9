// What is computed from a learned tensor follows it; what normalises the data stays as it is.
#include <gtest/gtest.h>

#include <algorithm>

#include "support/onnx_sequence.h"

namespace headroom::onnx::testing {
namespace {

// Also checks that no copy of a weight lies beside it as a constant, which would stay behind.
std::vector<std::string> parameters_of(const Net& net) {
  std::vector<std::string> names;
  const Program p = make_program(net, {.mode = Mode::train, .batch = 2, .fusion = Fusion::none});
  for (ValueId id : p.graph.with_role(Role::constant)) {
    const TensorType& type = p.graph.value(id).type;
    EXPECT_TRUE(!is_float(type.dtype) || type.shape.numel() == 1) << p.graph.value(id).name;
  }
  for (ValueId id : p.graph.with_role(Role::parameter)) names.push_back(p.graph.value(id).name);
  std::ranges::sort(names);
  return names;
}

using Names = std::vector<std::string>;

// Each way to another name of W: it stays one parameter.
TEST(OnnxTies, OneTensorStaysOneParameter) {
  const auto second = [](const std::function<void(Sequence&)>& rename) {
    Sequence m;
    m.node("Tanh", {"e"}, {"t"});
    rename(m);
    m.node("MatMul", {"t", "V"}, {"h"});
    return parameters_of(m.net());
  };
  const Names one = {"H", "W"};
  EXPECT_EQ(second([](Sequence& m) { m.node("Transpose", {"W"}, {"V"}); }), one);
  EXPECT_EQ(second([](Sequence& m) { m.node("Identity", {"W"}, {"V"}); }), one);
  EXPECT_EQ(second([](Sequence& m) {
              m.integers("flat", {256}), m.integers("square", {16, 16});
              m.node("Reshape", {"W", "flat"}, {"f"});
              m.node("Reshape", {"f", "square"}, {"V"});
            }),
            one);
  EXPECT_EQ(second([](Sequence& m) {
              m.integers("from", {0}), m.integers("to", {8}), m.integers("axis", {0});
              m.node("Slice", {"W", "from", "to", "axis"}, {"half"});
              m.attribute(m.node("Concat", {"half", "half"}, {"V"}), "axis", std::int64_t{0});
            }),
            one);
  EXPECT_EQ(second([](Sequence& m) {
              m.integers("order", {15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
              m.node("Gather", {"W", "order"}, {"V"});
            }),
            one);
  EXPECT_EQ(second([](Sequence& m) { m.node("Neg", {"W"}, {"V"}); }), one);
}

// Exporters transpose a weight and store the result beside it.
TEST(OnnxTies, ATransposedCopyStaysTied) {
  const auto second = [](const std::string& name, const Floats& values) {
    Sequence m;
    m.store("table", {12, 16});
    m.floats(name, {16, 12}, values);
    m.node("Tanh", {"e"}, {"t"});
    m.node("MatMul", {"t", name}, {"narrow"});
    m.node("MatMul", {"narrow", "table"}, {"h"});
    return parameters_of(m.net());
  };
  const Floats table = learned_values({12, 16});
  Floats transposed = filled({16, 12}, [&](auto i) { return table[std::size_t(i % 12 * 16 + i / 12)]; });
  EXPECT_EQ(second("onnx::MatMul_7", transposed), (Names{"H", "W", "table"}));
  EXPECT_EQ(second("another", transposed), (Names{"H", "W", "table"}));
  transposed.back() += 0.5f;  // one element is enough to be another weight
  EXPECT_EQ(second("onnx::MatMul_7", transposed), (Names{"H", "W", "onnx::MatMul_7", "table"}));
  EXPECT_EQ(second("onnx::MatMul_7", Floats(16 * 12, 0.5f)), (Names{"H", "W", "onnx::MatMul_7", "table"}));
}

// Before its first training, a layer may hold one number everywhere.
TEST(OnnxTies, UniformMatricesAreNotTied) {
  Sequence m;
  m.floats("a", {16, 12}, Floats(16 * 12, 0.25f));
  m.floats("b", {12, 16}, Floats(16 * 12, 0.25f));
  m.node("MatMul", {"e", "a"}, {"narrow"});
  m.node("MatMul", {"narrow", "b"}, {"h"});
  EXPECT_EQ(parameters_of(m.net()), (Names{"H", "W", "a", "b"}));
}

// PyTorch stores equal tensors once. Layers that are equal before their first training are not tied.
TEST(OnnxTies, CopiesOfFreshLayersComeApart) {
  const auto twice = [](const Floats& values, const std::string& first, const std::string& second) {
    Sequence m;
    m.floats(first, {16}, values);
    m.node("Identity", {first}, {second});
    m.node("Add", {"e", first}, {"a"});
    m.node("Tanh", {"a"}, {"t"});
    m.node("Add", {"t", second}, {"h"});
    return parameters_of(m.net());
  };
  EXPECT_EQ(twice(Floats(16, 0), "p", "q"), (Names{"H", "W", "p", "q"}));
  EXPECT_EQ(twice(learned_values({16}), "layers.0.b", "layers.1.b"),
            (Names{"H", "W", "layers.0.b", "layers.1.b"}));
  EXPECT_EQ(twice(learned_values({16}), "fc1.b", "fc2.b"), (Names{"H", "W", "fc1.b"}));
  EXPECT_EQ(twice(learned_values({16}), "p", "q"), (Names{"H", "W", "p"}));
}

// A product reads a transposed weight in place.
TEST(OnnxTies, TransposedWeightsAreNotCopied) {
  for (const char* op : {"MatMul", "Gemm"}) {
    ModelMaker m;
    m.input("x", {"N", "16"});
    m.floats("W", {10, 16}, learned_values({10, 16}));
    m.node("Transpose", {"W"}, {"V"});
    m.node(op, {"x", "V"}, {"y"});
    m.output("y", {"N", "10"});
    const auto file = std::make_shared<const ImportedGraph>(File::parse(m.bytes(), "small.onnx"),
                                                            std::map<std::string, std::int64_t>{});
    Net net(file->name(), file->item());
    net.imported = file;
    const Program p = make_forward(net, 2, DType::f32);
    EXPECT_EQ(p.graph.nodes().size(), 1u) << p.graph.text();
  }
}

// w = g v / |v|, computed in the file.
TEST(OnnxTies, WeightsThatAreComputedLearnThroughTheirParts) {
  Sequence m;
  m.store("v", {16, 16}), m.store("g", {1, 16});
  m.attribute(m.node("ReduceL2", {"v"}, {"length"}), "axes", Dims{0});
  m.node("Div", {"v", "length"}, {"unit"});
  m.node("Mul", {"unit", "g"}, {"w"});
  m.node("MatMul", {"e", "w"}, {"h"});
  expect_learned(m, "v", true);
  expect_learned(m, "g", true);
}

// (x - mean) / deviation, in several forms, straight on the input.
TEST(OnnxConstants, ThatNormaliseTheInput) {
  const Floats deviation = filled({16}, [](auto i) { return 0.2 + 0.01 * double(i * i % 7); });
  for (bool in_node : {false, true})
    for (const auto& [first, second] : {std::pair("Sub", "Div"), std::pair("Sub", "Mul"),
                                        std::pair("Mul", "Add"), std::pair("Div", "Sub")}) {
      SCOPED_TRACE(fmt::format("{} {} {}", first, second, in_node));
      Sequence m;
      m.graph.clear_node();
      for (const char* name : {"a", "b"})
        in_node ? m.constant(name, {16}, deviation) : void(m.floats(name, {16}, deviation));
      m.node(first, {"x", "a"}, {"p"});
      m.node(second, {"p", "b"}, {"q"});
      m.node("MatMul", {"q", "W"}, {"h"});
      expect_learned(m, "a", false, "normalises");
      expect_learned(m, "b", false, "normalises");
    }
}

// A batch normalisation written out: statistics are not learned, scale and offset are.
TEST(OnnxConstants, StatisticsInTheMiddle) {
  Sequence m;
  m.store("mean", {16}), m.store("scale", {16}), m.store("offset", {16});
  m.floats("variance", {16}, filled({16}, [](auto i) { return 0.5 + 0.1 * double(i % 5); }));
  m.floats("eps", {}, {1e-5f});
  m.node("Sub", {"e", "mean"}, {"centred"});
  m.node("Add", {"variance", "eps"}, {"above"});
  m.node("Sqrt", {"above"}, {"deviation"});
  m.node("Div", {"centred", "deviation"}, {"unit"});
  m.node("Mul", {"unit", "scale"}, {"scaled"});
  m.node("Add", {"scaled", "offset"}, {"h"});
  expect_learned(m, "mean", false, "statistic");
  expect_learned(m, "variance", false, "statistic");
  expect_learned(m, "eps", false);
  expect_learned(m, "scale", true);
  expect_learned(m, "offset", true);
}

// A group normalisation as exporters write it.
TEST(OnnxConstants, OnesAndZerosBeforeTheRealScale) {
  for (bool in_node : {false, true}) {
    Sequence m;
    for (const auto& [name, value] : {std::pair("ones", 1.f), std::pair("zeros", 0.f)})
      in_node ? m.constant(name, {8}, Floats(8, value)) : void(m.floats(name, {8}, Floats(8, value)));
    m.floats("scale", {8, 1}, Floats(8, 1));
    m.node("InstanceNormalization", {"e", "ones", "zeros"}, {"unit"});
    m.node("Mul", {"unit", "scale"}, {"h"});
    expect_learned(m, "ones", false);
    expect_learned(m, "zeros", false);
    expect_learned(m, "scale", true);
  }
}

}  // namespace
}  // namespace headroom::onnx::testing
