#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "graph/autodiff.h"
#include "passes/passes.h"

namespace headroom {
namespace {

struct Options {
  std::string activation = "tanh";
  bool hidden_bias = true, bias = true, count = true, want_scores = false, read_twice = false;
  std::int64_t hidden = 5, classes = 3;
};

struct Built {
  Graph graph;
  ValueId loss = kNone, h = kNone;
  std::map<ValueId, ValueId> gradients;
};

ValueId parameter(Graph& g, std::string name, Shape shape, std::string layer) {
  return g.add_value({.name = std::move(name),
                      .type = {shape, DType::f32},
                      .role = Role::parameter,
                      .layer = std::move(layer)});
}

// images -> fc1 -> activation -> fc2 -> cross-entropy, with gradients that the caller reads.
Built classifier(const Options& o) {
  Built b;
  Graph& g = b.graph;
  const ValueId x = g.add_value({.name = "x", .type = {{4, 6}, DType::f32}, .role = Role::input});
  const ValueId labels = g.add_value({.name = "labels", .type = {{4}, DType::i32}, .role = Role::input});
  std::vector<ValueId> first = {x, parameter(g, "w1", {o.hidden, 6}, "fc1")};
  if (o.hidden_bias) first.push_back(parameter(g, "b1", {o.hidden}, "fc1"));
  b.h = g.add_node("linear", first, {}, "fc1")[0];
  if (!o.activation.empty()) b.h = g.add_node(o.activation, {b.h}, {}, "fc1")[0];
  std::vector<ValueId> second = {b.h, parameter(g, "w2", {o.classes, o.hidden}, "fc2")};
  if (o.bias) second.push_back(parameter(g, "b2", {o.classes}, "fc2"));
  const ValueId scores = g.add_node("linear", second, {}, "fc2")[0];
  b.loss = g.add_node("cross_entropy", {scores, labels}, {}, "loss")[0];
  g.outputs = {b.loss};
  if (o.count) g.outputs.push_back(g.add_node("count_correct", {scores, labels}, {}, "loss")[0]);
  if (o.want_scores) g.outputs.push_back(scores);
  if (o.read_twice) g.outputs.push_back(g.add_node("relu", {b.h}, {}, "other")[0]);
  b.gradients = differentiate(g, b.loss, g.with_role(Role::parameter));
  for (const auto& [of, gradient] : b.gradients) g.outputs.push_back(gradient);
  fuse(g);
  drop_unused(g);
  return b;
}

std::vector<std::string> operators_in(const Graph& graph) {
  std::vector<std::string> list;
  for (const Node& node : graph.nodes()) list.push_back(node.op);
  return list;
}

TEST(FuseHead, TheEndOfAClassifierIsOneNode) {
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    Built b = classifier({.activation = activation});
    ASSERT_EQ(b.graph.nodes().size(), 9u);
    const std::vector<ValueId> outputs = b.graph.outputs;
    fuse_head(b.graph);
    EXPECT_EQ(operators_in(b.graph), (std::vector<std::string>{"linear", "classifier_head", "matmul"}));
    EXPECT_EQ(b.graph.outputs, outputs);
    const Node& head = b.graph.nodes()[1];
    EXPECT_EQ(head.phase, Phase::forward);
    EXPECT_EQ(head.attrs.text("activation_grad"), activation);
    const Problem problem = b.graph.problem(1);
    EXPECT_EQ(schema_of("classifier_head").infer(problem.inputs, problem.attrs), problem.outputs);
    EXPECT_EQ(head.inputs[0], b.h);
    EXPECT_EQ(head.outputs[0], b.loss);
    EXPECT_EQ(head.outputs[2], b.graph.nodes()[2].inputs[0]) << "dz";
    EXPECT_EQ(head.outputs[3], b.gradients.at(b.graph.find("w2")));
    EXPECT_EQ(head.outputs[4], b.gradients.at(b.graph.find("b2")));
    EXPECT_EQ(head.outputs[5], b.gradients.at(b.graph.find("b1")));
    for (ValueId id : outputs) EXPECT_NE(b.graph.value(id).producer, kNone) << b.graph.value(id).name;
  }
}

TEST(FuseHead, EveryLayerIsChargedForItsPart) {
  Built b = classifier({});
  fuse_head(b.graph);
  const auto& charges = b.graph.nodes().at(1).charges;
  auto share = [&](std::string_view layer, Phase phase) {
    const auto it = std::find_if(charges.begin(), charges.end(),
                                 [&](const Charge& c) { return c.layer == layer && c.phase == phase; });
    return it == charges.end() ? 0.0 : it->share;
  };
  EXPECT_EQ(charges.size(), 5u);
  for (const Charge& charge : charges) EXPECT_GT(charge.share, 0) << charge.layer;
  // The products read all the data and do most of the arithmetic. The loss works on scores that are there
  // already.
  const double loss = share("loss", Phase::forward) + share("loss", Phase::backward);
  EXPECT_LT(loss, 0.1);
  EXPECT_GT(share("fc2", Phase::forward), 2 * loss);
  EXPECT_GT(share("fc2", Phase::backward), share("fc1", Phase::backward));
  EXPECT_NEAR(std::accumulate(charges.begin(), charges.end(), 0.0,
                              [](double sum, const Charge& c) { return sum + c.share; }),
              1, 1e-12);
}

TEST(FuseHead, AnythingElseIsLeftAlone) {
  const std::vector<std::pair<const char*, Options>> cases = {
      {"no activation", {.activation = ""}},
      {"no bias of the hidden layer", {.hidden_bias = false}},
      {"no bias", {.bias = false}},
      {"no count", {.count = false}},
      {"scores are read", {.want_scores = true}},
      {"the hidden layer is read", {.read_twice = true}},
      {"too many classes", {.classes = 17}},
      {"too many inputs", {.hidden = 1025}},
      {"too many weights", {.hidden = 1000, .classes = 11}}};
  for (const auto& [what, options] : cases) {
    Built b = classifier(options);
    const std::vector<std::string> before = operators_in(b.graph);
    fuse_head(b.graph);
    EXPECT_EQ(operators_in(b.graph), before) << what;
  }
  Graph empty;
  EXPECT_NO_THROW(fuse_head(empty));
}

}  // namespace
}  // namespace headroom
