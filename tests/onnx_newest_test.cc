// Operators and forms that ONNX Runtime does not have yet, by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "support/one_node.h"

namespace headroom::testing {
namespace {

auto numbers_of(std::vector<std::pair<std::string, std::int64_t>> numbers) {
  return [numbers](onnx::NodeProto& n) {
    for (const auto& [name, value] : numbers) ModelMaker::set(n, name, value);
  };
}

TEST(OnnxNewest, RunningProducts) {
  const auto expect = [](std::int64_t exclusive, std::int64_t reverse, const std::vector<double>& want) {
    const auto attributes = numbers_of({{"exclusive", exclusive}, {"reverse", reverse}});
    ModelMaker m(26);
    m.input("x", {"2", "5"});
    store(m, "axis", whole({}, {1}));
    onnx::NodeProto& node = m.node("CumProd", {"x", "axis"}, {"y"});
    attributes(node);
    m.graph.add_output()->set_name("y");
    const NamedTensor x = floats({2, 5}, {1, 2, 3, 4, 5, -1, 2, 0, 3, 1}).tensor("x");
    EXPECT_EQ(values_of(run_net(net_of(m), {x}).at(0)), want) << exclusive << reverse;
  };
  expect(0, 0, {1, 2, 6, 24, 120, -1, -2, 0, 0, 0});
  expect(1, 0, {1, 1, 2, 6, 24, 1, -1, -2, 0, 0});
  expect(0, 1, {120, 120, 60, 20, 5, 0, 0, 0, 3, 1});
  expect(1, 1, {120, 60, 20, 5, 1, 0, 0, 3, 1, 1});
}

TEST(OnnxNewest, AGatedActivation) {
  expect_result({"SwiGLU", {floats({3}, {0, 1, -2}), floats({3}, {5, 2, 3})}, [](onnx::NodeProto&) {}, 28},
                floats({3}, {0, 2 / (1 + std::exp(-1.0)), -6 / (1 + std::exp(2.0))}));
}

TEST(OnnxNewest, DepthBehindRowsAndColumns) {
  const auto columns_first = [](onnx::NodeProto& n) {
    ModelMaker::set(n, "blocksize", std::int64_t{2});
    ModelMaker::set(n, "mode", std::string("CRD"));
  };
  expect_result({"SpaceToDepth", {floats({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, columns_first, 28},
                floats({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8}));
}

// Equal keys share the attention: a result is the mean of the values that a query may see.
TEST(OnnxNewest, WindowsOfAttention) {
  const Array q = floats({1, 1, 3, 1}, {1, 1, 1}), k = floats({1, 1, 3, 1}, {0, 0, 0}),
              v = floats({1, 1, 3, 1}, {2, 4, 9});
  expect_result({"Attention", {q, k, v}, numbers_of({{"left_window_size", 1}, {"right_window_size", 0}}), 25},
                floats({1, 1, 3, 1}, {2, 3, 6.5}));
  expect_result({"Attention", {q, k, v}, numbers_of({{"is_causal", 1}}), 25},
                floats({1, 1, 3, 1}, {2, 3, 5}));
}

// Two columns of coordinates, as rows; then the elements that they name.
TEST(OnnxNewest, ACountedAxisFollowsATranspose) {
  ModelMaker m(18);
  m.input("x", {"2", "3"});
  m.node("NonZero", {"x"}, {"columns"});
  m.node("Transpose", {"columns"}, {"rows"});
  m.node("GatherND", {"x", "rows"}, {"y"});
  for (const char* name : {"rows", "y"}) m.graph.add_output()->set_name(name);
  const std::vector<NamedTensor> got = run_net(net_of(m), {floats({2, 3}, {0, 5, 0, 0, 0, 7}).tensor("x")});
  EXPECT_EQ(got.at(0).type.shape, (Shape{2, 2}));
  EXPECT_EQ(values_of(got.at(0)), (std::vector<double>{0, 1, 1, 2}));
  EXPECT_EQ(values_of(got.at(1)), (std::vector<double>{5, 7}));
}

TEST(OnnxNewest, AScatterTakesItsIndicesFromTheData) {
  const auto node = [](std::int64_t bad) {
    return OneNode{"ScatterElements",
                   {floats({4}, {1, 2, 3, 4}), whole({2}, {-1, bad}), floats({2}, {8, 9})},
                   [](onnx::NodeProto&) {}};
  };
  expect_result(node(0), floats({4}, {9, 2, 3, 8}));
  expect_rejected([&] { node(4).run(false); }, {"index 4 "});
}

// Rows of no elements stay as they are, also if updates name some of them.
TEST(OnnxNewest, AScatterIntoNothingChangesNothing) {
  for (const char* op : {"ScatterND", "ScatterElements"}) {
    ModelMaker m(18);
    m.input("x", {"3", "2"});
    const auto store = [&](const char* name, const Ints& dims, int type) -> TensorProto& {
      TensorProto& t = *m.graph.add_initializer();
      t.set_name(name), t.set_data_type(type);
      for (const std::int64_t dim : dims) t.add_dims(dim);
      return t;
    };
    const bool elements = op == std::string("ScatterElements");
    store("nothing", {3, 0}, TensorProto::FLOAT);
    store("update", {1, 0}, TensorProto::FLOAT);
    TensorProto& indices = store("indices", {1, elements ? 0 : 1}, TensorProto::INT64);
    if (!elements) indices.add_int64_data(2);
    m.node(op, {"nothing", "indices", "update"}, {"same"});
    ModelMaker::set(m.node("Concat", {"same", "x"}, {"y"}), "axis", 1);
    m.graph.add_output()->set_name("y");
    const std::vector<double> x = {1, 2, 3, 4, 5, 6};
    EXPECT_EQ(values_of(run_net(net_of(m), {floats({3, 2}, x).tensor("x")}).at(0)), x) << op;
  }
}

}  // namespace
}  // namespace headroom::testing
