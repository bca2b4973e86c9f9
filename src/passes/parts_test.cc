#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "ops/testing/graph_run.h"
#include "passes/passes.h"

namespace headroom {
namespace {

using testing::Values;

// A hidden layer, the head of a classifier and the gradient of the hidden weights, in fp32.
struct PartsGraph {
  Graph graph;
  ValueId x = value("x", {12, 21}, Role::input), w = value("w", {9, 21}), bias = value("bias", {9});
  ValueId w2 = value("w2", {4, 9}), bias2 = value("bias2", {4});
  ValueId labels = graph.add_value({.name = "labels", .type = {{12}, DType::i32}, .role = Role::input});
  ValueId h = graph.add_node("linear", {x, w, bias}, {{"activation", std::string("sigmoid")}}, "hidden")[0];
  std::vector<ValueId> head = graph.add_node("classifier_head", {h, w2, bias2, labels},
                                             {{"activation_grad", std::string("sigmoid")}}, "loss");
  ValueId dw =
      graph.add_node("matmul", {head[2], x}, {{"trans_a", std::int64_t{1}}}, "hidden", Phase::backward)[0];

  ValueId value(std::string name, const Shape& shape, Role role = Role::parameter) {
    return graph.add_value({.name = std::move(name), .type = {shape, DType::f32}, .role = role});
  }
  int count(std::string_view op) const {
    return static_cast<int>(std::ranges::count(graph.nodes(), op, &Node::op));
  }
  const Node& only(std::string_view op) const { return *std::ranges::find(graph.nodes(), op, &Node::op); }
  // Of the outputs, in fp64.
  std::vector<Values> results() const {
    std::map<ValueId, Values> known;
    for (Role role : {Role::input, Role::parameter})
      for (ValueId id : graph.with_role(role))
        for (std::int64_t i = 0; i < graph.value(id).type.shape.numel(); ++i)
          known[id].push_back(id == labels
                                  ? double(i % 4)
                                  : double(float(Philox(3, std::uint64_t(id)).normal(std::uint64_t(i)))));
    const auto all = testing::interpret(graph, known);
    std::vector<Values> list;
    for (ValueId id : graph.outputs) list.push_back(all.at(id));
    return list;
  }
};

bool every(const Problem&) { return true; }

void expect_close(const std::vector<Values>& got, const std::vector<Values>& want, double allowed) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t o = 0; o < want.size(); ++o) {
    ASSERT_EQ(got[o].size(), want[o].size());
    double largest = 0;
    for (const double y : want[o]) largest = std::max(largest, std::abs(y));
    for (std::size_t i = 0; i < want[o].size(); ++i)
      EXPECT_NEAR(got[o][i], want[o][i], allowed * largest) << o << " " << i;
  }
}

TEST(ShareParts, AMatrixIsSplitOnceForAllItsProducts) {
  for (const int parts : {1, 2}) {
    PartsGraph made;
    made.graph.outputs = {made.h, made.head[0], made.head[3], made.head[5], made.dw};
    const std::vector<Values> want = made.results();
    share_parts(made.graph, parts, every);
    EXPECT_EQ(made.count("parts_product"), 2);
    EXPECT_EQ(made.count("fp16_parts"), 1);
    EXPECT_EQ(made.only("fp16_parts").inputs, (std::vector<ValueId>{made.x, made.w}))
        << "x for both products";
    EXPECT_EQ(made.count("linear") + made.count("matmul"), 0);
    const Node& head = made.only("classifier_head");
    EXPECT_EQ(head.attrs.integer("parts"), parts);
    EXPECT_EQ(head.outputs.size(), 7u);
    expect_close(made.results(), want, parts == 2 ? 1e-6 : 2e-3);
  }
}

// An activation that both passes read is split in each of them: its parts do not wait from one to the other.
TEST(ShareParts, OnlyInputsAreKeptForTheBackwardPass) {
  Graph graph;
  const auto value = [&](const char* name, Shape shape, Role role) {
    return graph.add_value({.name = name, .type = {std::move(shape), DType::f32}, .role = role});
  };
  const ValueId x = value("x", {40, 24}, Role::input), w = value("w", {16, 24}, Role::parameter),
                v = value("v", {8, 16}, Role::parameter), dy = value("dy", {40, 8}, Role::input);
  const ValueId h = graph.add_node("linear", {x, w}, {}, "one", Phase::forward)[0];
  const ValueId y = graph.add_node("linear", {h, v}, {}, "two", Phase::forward)[0];
  const Attrs across = {{"trans_a", std::int64_t{1}}};
  const ValueId dv = graph.add_node("matmul", {dy, h}, across, "two", Phase::backward)[0];
  const ValueId dw = graph.add_node("matmul", {h, x}, across, "one", Phase::backward)[0];
  graph.outputs = {y, dv, dw};
  share_parts(graph, 2, every);
  std::vector<ValueId> split;
  for (const Node& node : graph.nodes())
    if (node.op == "fp16_parts") split.insert(split.end(), node.inputs.begin(), node.inputs.end());
  EXPECT_EQ(std::ranges::count(split, x), 1);
  EXPECT_EQ(std::ranges::count(split, h), 2) << "once in each pass";
}

TEST(ShareParts, AGradientThatOthersReadStaysAsItIs) {
  PartsGraph made;
  const ValueId sums = made.graph.add_node("bias_grad", {made.head[2]}, {}, "hidden", Phase::backward)[0];
  made.graph.outputs = {sums, made.dw};
  const std::vector<Values> want = made.results();
  share_parts(made.graph, 2, every);
  EXPECT_FALSE(made.only("classifier_head").attrs.has("parts"));
  EXPECT_EQ(made.count("fp16_parts"), 2);
  expect_close(made.results(), want, 1e-6);

  PartsGraph kept;
  kept.graph.outputs = {kept.head[2], kept.dw};  // read by the caller
  share_parts(kept.graph, 2, every);
  EXPECT_FALSE(kept.only("classifier_head").attrs.has("parts"));
}

TEST(ShareParts, OnlyProductsThatAreWanted) {
  PartsGraph made;
  made.graph.outputs = {made.h, made.dw};
  const std::vector<Node> before = made.graph.nodes();
  share_parts(made.graph, 2, [](const Problem&) { return false; });
  EXPECT_EQ(made.graph.nodes().size(), before.size());
  share_parts(made.graph, 2, [](const Problem& p) { return p.op == "matmul"; });
  EXPECT_EQ(made.count("linear"), 1);
  EXPECT_EQ(made.count("parts_product"), 1);
  EXPECT_EQ(made.only("classifier_head").attrs.integer("parts"), 2);
}

}  // namespace
}  // namespace headroom
