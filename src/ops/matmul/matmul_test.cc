#include <gtest/gtest.h>

#include "ops/testing/graph_run.h"

namespace headroom::testing {
namespace matmul_test {

Shape product(const Shape& a, const Shape& b, const Attrs& attrs = {}) {
  return operator_of("matmul").schema.infer({{a, DType::f32}, {b, DType::f32}}, attrs)[0].shape;
}

TEST(Matmul, BatchesAreBroadcast) {
  EXPECT_EQ(product({2, 3, 4, 5}, {5, 6}), (Shape{2, 3, 4, 6}));
  EXPECT_EQ(product({2, 1, 4, 5}, {3, 5, 6}), (Shape{2, 3, 4, 6}));
  EXPECT_EQ(product({4, 5}, {7, 5, 6}), (Shape{7, 4, 6}));
}

TEST(Matmul, VectorsLoseTheirAxis) {
  EXPECT_EQ(product({5}, {5}), Shape{});
  EXPECT_EQ(product({5}, {5, 6}), (Shape{6}));
  EXPECT_EQ(product({4, 5}, {5}), (Shape{4}));
  EXPECT_EQ(product({5}, {3, 5, 6}), (Shape{3, 6}));
  EXPECT_EQ(product({3, 4, 5}, {5}), (Shape{3, 4}));
}

TEST(Matmul, RejectsWhatDoesNotMeet) {
  const Attrs ta{{"trans_a", std::int64_t{1}}};
  EXPECT_THROW(product({4, 5}, {4, 5}), Error);
  EXPECT_THROW(product({2, 4, 5}, {3, 5, 4}), Error);
  EXPECT_THROW(product({5}, {5, 4}, ta), Error);
  EXPECT_THROW(product(Shape{}, {5, 4}), Error);
  const auto infer = operator_of("matmul").schema.infer;
  EXPECT_THROW(infer({{{2, 2}, DType::f32}, {{2, 2}, DType::f64}}, {}), Error);
}

// One weight for a whole batch: no sum over the batch is left to a node of its own.
TEST(Matmul, GradientOfAnUnbatchedWeightIsOneProduct) {
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .type = {{2, 3, 4}, DType::f64}, .role = Role::input});
  const ValueId w = graph.add_value({.name = "w", .type = {{4, 5}, DType::f64}, .role = Role::input});
  const ValueId y = graph.add_node("matmul", {x, w}, {}, "fc").at(0);
  GradientContext context{.graph = graph, .node = 0, .output_gradients = {y}, .needed = {true, true}};
  const auto gradients = operator_of("matmul").schema.gradient(context);
  EXPECT_EQ(graph.value(gradients[0]).type.shape, (Shape{2, 3, 4}));
  EXPECT_EQ(graph.value(gradients[1]).type.shape, (Shape{4, 5}));
  int products = 0;
  for (const Node& node : graph.nodes()) products += node.op == "matmul";
  EXPECT_EQ(products, 3);
}

}  // namespace matmul_test
}  // namespace headroom::testing
