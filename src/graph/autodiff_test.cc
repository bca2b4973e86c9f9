#include "graph/autodiff.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/bad_input.h"

namespace headroom {
namespace {

using testing::expect_rejected;

ValueId value(Graph& g, const char* name, Shape shape, Role role) {
  return g.add_value({.name = name, .type = {shape, DType::f32}, .role = role});
}

std::vector<std::string> ops_from(const Graph& g, std::size_t first) {
  std::vector<std::string> ops;
  for (std::size_t n = first; n < g.nodes().size(); ++n) ops.push_back(g.nodes()[n].op);
  return ops;
}

// Both sides of the sum read x: its gradient is the sum over both.
TEST(Autodiff, AValueUsedTwiceSumsItsGradients) {
  Graph g;
  const ValueId x = value(g, "x", {2, 3}, Role::parameter);
  const ValueId a = g.add_node("relu", {x}, {}, "left")[0];
  const ValueId b = g.add_node("tanh", {x}, {}, "right")[0];
  const ValueId y = g.add_node("add", {a, b}, {}, "sum")[0];
  const auto gradients = differentiate(g, y, {x});
  EXPECT_EQ(ops_from(g, 3), (std::vector<std::string>{"tanh_grad", "relu_grad", "add"}));
  const Node& sum = g.nodes().back();
  EXPECT_EQ(gradients.at(x), sum.outputs[0]);
  std::vector<ValueId> parts = {g.nodes()[3].outputs[0], g.nodes()[4].outputs[0]};
  EXPECT_TRUE(std::is_permutation(parts.begin(), parts.end(), sum.inputs.begin()));
  EXPECT_EQ(sum.phase, Phase::backward);
}

TEST(Autodiff, TheSameInputTwiceCountsTwice) {
  Graph g;
  const ValueId x = value(g, "x", {2}, Role::parameter), seed = value(g, "dy", {2}, Role::input);
  const ValueId y = g.add_node("add", {x, x}, {}, "twice")[0];
  const auto gradients = differentiate(g, y, {x}, seed);
  ASSERT_EQ(ops_from(g, 1), std::vector<std::string>{"add"});
  EXPECT_EQ(g.nodes()[1].inputs, (std::vector<ValueId>{seed, seed}));
  EXPECT_EQ(gradients.at(x), g.nodes()[1].outputs[0]);
}

TEST(Autodiff, ComputesNothingThatIsNotWanted) {
  Graph g;
  const ValueId x = value(g, "x", {2, 3}, Role::input), w = value(g, "w", {4, 3}, Role::parameter);
  const ValueId b = value(g, "b", {4}, Role::parameter);
  const ValueId y = g.add_node("linear", {x, w, b}, {}, "fc")[0];
  Graph only_bias = g;
  differentiate(only_bias, y, {b});
  EXPECT_EQ(ops_from(only_bias, 1), std::vector<std::string>{"bias_grad"});
  differentiate(g, y, {w, b});
  EXPECT_EQ(ops_from(g, 1), (std::vector<std::string>{"matmul", "bias_grad"})) << "no gradient of x";
}

TEST(Autodiff, GradientNodesBelongToTheLayerAndTheBackwardPhase) {
  Graph g;
  const ValueId x = value(g, "x", {2, 3}, Role::input), w = value(g, "w", {4, 3}, Role::parameter);
  const ValueId y = g.add_node("linear", {x, w}, {}, "fc")[0];
  const auto gradients = differentiate(g, y, {w});
  EXPECT_EQ(g.nodes()[1].layer, "fc");
  EXPECT_EQ(g.nodes()[1].phase, Phase::backward);
  EXPECT_EQ(g.value(gradients.at(w)).type, g.value(w).type);
  EXPECT_EQ(g.value(gradients.at(w)).role, Role::gradient);
  const Value& seed = g.value(g.find("one"));
  EXPECT_EQ(seed.role, Role::constant);
  EXPECT_EQ(seed.init.scale, 1);
  EXPECT_EQ(seed.type, g.value(y).type);
}

TEST(Autodiff, WhatTheTargetDoesNotDependOnIsAbsent) {
  Graph g;
  const ValueId x = value(g, "x", {2}, Role::parameter), unused = value(g, "u", {2}, Role::parameter);
  const ValueId y = g.add_node("relu", {x}, {}, "a")[0];
  g.add_node("relu", {unused}, {}, "b");
  const auto gradients = differentiate(g, y, {x, unused});
  EXPECT_EQ(gradients.count(x), 1u);
  EXPECT_EQ(gradients.count(unused), 0u);
  EXPECT_EQ(ops_from(g, 2), std::vector<std::string>{"relu_grad"});
}

TEST(Autodiff, AnOperatorWithoutGradientIsRejectedByNameOnlyOnThePath) {
  Graph g;
  const ValueId x = value(g, "x", {2, 3}, Role::parameter);
  const ValueId labels = g.add_value({.name = "labels", .type = {{2}, DType::i32}, .role = Role::input});
  const ValueId loss = g.add_node("cross_entropy", {x, labels}, {}, "loss")[0];
  const ValueId count = g.add_node("count_correct", {x, labels}, {}, "metric")[0];
  Graph beside = g;
  EXPECT_EQ(differentiate(beside, loss, {x}).count(x), 1u);
  expect_rejected([&] { differentiate(g, count, {x}); }, {"layer 'metric'", "count_correct", "no gradient"});
}

}  // namespace
}  // namespace headroom
