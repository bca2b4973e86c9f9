#include <gtest/gtest.h>

#include "graph/autodiff.h"
#include "ops/testing/graph_run.h"

namespace headroom::testing {
namespace {

TEST(Add, RejectsWhatDiffers) {
  const auto infer = operator_of("add").schema.infer;
  EXPECT_THROW(infer({{{2, 3}, DType::f32}}, {}), Error);
  EXPECT_THROW(infer({{{2, 3}, DType::f32}, {{3, 2}, DType::f32}}, {}), Error);
  EXPECT_THROW(infer({{{2, 3}, DType::f32}, {{2, 3}, DType::f64}}, {}), Error);
  EXPECT_THROW(infer({{{2}, DType::i32}, {{2}, DType::i32}}, {}), Error);
}

TEST(Add, OfAValueToItselfHasTwiceTheGradient) {
  Graph graph;
  const ValueId x = graph.add_value({.name = "x", .type = {{3}, DType::f64}, .role = Role::input});
  const ValueId y = graph.add_node("add", {x, x}, {}, "twice").at(0);
  const ValueId dx = differentiate(graph, y, {x}).at(x);
  EXPECT_EQ(interpret(graph, {{x, {1, 2, 3}}}).at(dx), (Values{2, 2, 2}));
}

}  // namespace
}  // namespace headroom::testing
