#include <gtest/gtest.h>

#include "base/random.h"
#include "ops/testing/graph_run.h"
#include "passes/passes.h"

namespace headroom {
namespace {

using testing::Values;

// A graph under construction: images, parameters by name, nodes.
struct Maker {
  Graph graph;

  ValueId value(std::string name, const Shape& shape, Role role = Role::parameter) {
    return graph.add_value({.name = std::move(name),
                            .type = {shape, DType::f64},
                            .role = role,
                            .producer = kNone,
                            .init = {},
                            .layer = {}});
  }
  ValueId node(const char* op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return graph.add_node(op, std::move(inputs), std::move(attrs), op).at(0);
  }
  ValueId convolved(const std::string& name, ValueId x, std::int64_t maps, Attrs attrs = {}) {
    const std::int64_t channels = graph.value(x).type.shape[1] / attrs.integer("groups", 1);
    attrs.set("pads", std::vector<std::int64_t>{1, 1, 1, 1});
    return node("conv2d", {x, value(name, {maps, channels, 3, 3})}, attrs);
  }
  ValueId normalised(const std::string& name, ValueId x) {
    const Shape c{graph.value(x).type.shape[1]};
    return node("batch_norm_inference", {x, value(name + ".scale", c), value(name + ".bias", c),
                                         value(name + ".mean", c), value(name + ".variance", c)});
  }
};

std::vector<std::string> operators_of(const Graph& graph) {
  std::vector<std::string> list;
  for (const Node& node : graph.nodes()) list.push_back(node.op);
  return list;
}

// The results of the graph must not change by more than rounding.
void expect_same(const Graph& before, const Graph& after, ValueId out) {
  std::map<ValueId, Values> known;
  for (Role role : {Role::input, Role::parameter})
    for (ValueId id : before.with_role(role)) {
      const Value& value = before.value(id);
      Values& values = known[id];
      for (std::int64_t i = 0; i < value.type.shape.numel(); ++i)
        values.push_back(value.name.ends_with("variance")
                             ? 0.5 + double(i % 3)
                             : Philox(7, std::uint64_t(id)).normal(std::uint64_t(i)));
    }
  const Values want = testing::interpret(before, known).at(out),
               got = testing::interpret(after, known).at(out);
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-11) << i;
}

using Names = std::vector<std::string>;

TEST(Blocks, ResidualBlockOfTwoConvolutions) {
  Maker m;
  const ValueId x = m.value("x", {2, 4, 6, 6}, Role::input);
  const ValueId a = m.node("relu", {m.normalised("na", m.convolved("a", x, 4))});
  const ValueId b = m.normalised("nb", m.convolved("b", a, 4));
  const ValueId out = m.node("relu", {m.node("add", {b, x})});
  m.graph.outputs = {out};
  Graph fused = m.graph;
  fuse_blocks(fused);
  EXPECT_EQ(operators_of(fused), (Names{"conv2d_block", "conv2d_block"}));
  expect_same(m.graph, fused, out);
}

TEST(Blocks, TwoBranchesAreSummedInTheLaterOne) {
  Maker m;
  const ValueId x = m.value("x", {1, 4, 6, 6}, Role::input);
  const ValueId a = m.normalised("na", m.convolved("a", x, 5));
  const ValueId b = m.normalised("nb", m.convolved("b", x, 5));
  const ValueId out = m.node("add", {b, a});
  m.graph.outputs = {out};
  Graph fused = m.graph;
  fuse_blocks(fused);
  EXPECT_EQ(operators_of(fused), (Names{"conv2d_block", "conv2d_block"}));
  EXPECT_EQ(fused.nodes()[1].attrs.integer("residual"), 1);
  expect_same(m.graph, fused, out);
}

TEST(Blocks, DepthwiseWithClip) {
  Maker m;
  const ValueId x = m.value("x", {2, 4, 6, 6}, Role::input);
  const ValueId a = m.normalised("na", m.convolved("a", x, 4, {{"groups", std::int64_t{4}}}));
  const ValueId out = m.node("clip", {a}, {{"min", 0.0}, {"max", 6.0}});
  m.graph.outputs = {out};
  Graph fused = m.graph;
  fuse_blocks(fused);
  EXPECT_EQ(operators_of(fused), (Names{"conv2d_block"}));
  EXPECT_EQ(fused.nodes()[0].charges.size(), 3u);
  expect_same(m.graph, fused, out);
}

TEST(Blocks, WhatOthersReadStays) {
  Maker m;
  const ValueId x = m.value("x", {1, 4, 6, 6}, Role::input);
  const ValueId a = m.convolved("a", x, 4);
  const ValueId out = m.node("add", {m.normalised("na", a), a});
  m.graph.outputs = {out};
  Graph fused = m.graph;
  fuse_blocks(fused);
  EXPECT_EQ(operators_of(fused), (Names{"conv2d", "batch_norm_inference", "add"}));
}

TEST(Blocks, NothingGoesBehindAnActivation) {
  Maker m;
  const ValueId x = m.value("x", {1, 4, 6, 6}, Role::input);
  const ValueId a = m.node("relu", {m.convolved("a", x, 4)});
  const ValueId out = m.normalised("na", m.node("add", {a, x}));
  m.graph.outputs = {out};
  Graph fused = m.graph;
  fuse_blocks(fused);
  EXPECT_EQ(operators_of(fused), (Names{"conv2d_block", "add", "batch_norm_inference"}));
  expect_same(m.graph, fused, out);
}

}  // namespace
}  // namespace headroom
