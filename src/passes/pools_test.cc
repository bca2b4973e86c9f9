#include <gtest/gtest.h>

#include "base/random.h"
#include "ops/testing/graph_run.h"
#include "passes/passes.h"

namespace headroom {
namespace {

using testing::Values;
using Ints = std::vector<std::int64_t>;

// One convolution of an image, and what follows it.
struct PoolGraph {
  Graph graph;
  ValueId x = value("x", {2, 3, 9, 8}, Role::input);
  ValueId w = value("w", {5, 3, 3, 3}), bias = value("bias", {5});

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
  ValueId convolved() { return node("conv2d", {x, w, bias}); }
  ValueId pooled(const char* op, ValueId from) { return node(op, {from}, {{"kernel", Ints{2, 2}}}); }

  std::vector<std::string> operators() const {
    std::vector<std::string> list;
    for (const Node& n : graph.nodes()) list.push_back(n.op);
    return list;
  }
  Values result() const {
    std::map<ValueId, Values> known;
    for (Role role : {Role::input, Role::parameter})
      for (ValueId id : graph.with_role(role))
        for (std::int64_t i = 0; i < graph.value(id).type.shape.numel(); ++i)
          known[id].push_back(Philox(3, std::uint64_t(id)).normal(std::uint64_t(i)));
    return testing::interpret(graph, known).at(graph.outputs.at(0));
  }
};

bool always(const Problem&) { return true; }

void expect_one_block(PoolGraph& made, ValueId out, std::size_t layers) {
  made.graph.outputs = {out};
  const Values want = made.result();
  fuse(made.graph);
  fuse_pools(made.graph, always);
  EXPECT_EQ(made.operators(), std::vector<std::string>{"conv2d_block"});
  EXPECT_EQ(made.graph.nodes()[0].charges.size(), layers);
  const Values got = made.result();
  ASSERT_EQ(want.size(), got.size());
  for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-12) << i;
}

TEST(Pools, EveryOrderOfMaximumAndActivation) {
  for (const char* f : {"relu", "tanh", "sigmoid"}) {
    PoolGraph before, after;
    expect_one_block(before, before.pooled("max_pool", before.node(f, {before.convolved()})), 3);
    expect_one_block(after, after.node(f, {after.pooled("max_pool", after.convolved())}), 3);
  }
}

TEST(Pools, MeansComeAfterTheActivation) {
  PoolGraph made, other;
  expect_one_block(made, made.pooled("avg_pool", made.node("tanh", {made.convolved()})), 3);
  other.graph.outputs = {other.node("tanh", {other.pooled("avg_pool", other.convolved())})};
  fuse_pools(other.graph, always);
  EXPECT_EQ(other.operators(), (std::vector<std::string>{"conv2d_block", "tanh"}));
}

TEST(Pools, OtherWindowsOfPools) {
  for (const Attrs& attrs :
       {Attrs{{"kernel", Ints{3, 3}}, {"strides", Ints{2, 2}}},
        Attrs{{"kernel", Ints{2, 3}}, {"ceil_mode", std::int64_t{1}}},
        Attrs{{"kernel", Ints{3, 3}}, {"pads", Ints{1, 1, 1, 1}}},
        Attrs{{"kernel", Ints{2, 2}}, {"dilations", Ints{2, 1}}, {"strides", Ints{1, 1}}},
        Attrs{{"kernel", Ints{3, 2}}, {"pads", Ints{1, 0, 1, 0}}, {"count_include_pad", std::int64_t{1}}}})
    for (const char* op : {"max_pool", "avg_pool"}) {
      if (attrs.has("count_include_pad") && std::string(op) == "max_pool") continue;
      PoolGraph made;
      expect_one_block(made, made.node(op, {made.convolved()}, attrs), 2);
    }
}

TEST(Pools, WhatOthersReadOrNobodyWantsStays) {
  PoolGraph shared;
  const ValueId y = shared.convolved();
  shared.graph.outputs = {shared.pooled("max_pool", y), y};
  fuse_pools(shared.graph, always);
  EXPECT_EQ(shared.operators(), (std::vector<std::string>{"conv2d", "max_pool"}));

  PoolGraph refused;
  refused.graph.outputs = {refused.pooled("max_pool", refused.convolved())};
  fuse_pools(refused.graph, [](const Problem&) { return false; });
  EXPECT_EQ(refused.operators(), (std::vector<std::string>{"conv2d", "max_pool"}));
}

}  // namespace
}  // namespace headroom
