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
  bool deeper = false, image_gradient = false;  // a layer before; the gradient of the images is wanted
  std::string update = {};                      // of the parameters; else the caller reads their gradients
  double momentum = 0;
  bool penalty = false, tally = false;  // with the update
  std::int64_t hidden = 5, classes = 3;
};

struct Built {
  Graph graph;
  ValueId loss = kNone, h = kNone;
  std::map<ValueId, ValueId> gradients;
};

ValueId scalar(Graph& g, std::string name) {
  return g.add_value({.name = std::move(name), .type = {{1}, DType::f64}, .role = Role::scalar, .layer = {}});
}

ValueId parameter(Graph& g, std::string name, Shape shape, std::string layer) {
  return g.add_value({.name = std::move(name),
                      .type = {shape, DType::f32},
                      .role = Role::parameter,
                      .layer = std::move(layer)});
}

// With a penalty for weights.
void add_updates(Graph& g, const std::map<ValueId, ValueId>& gradients, const Options& o) {
  std::vector<ValueId> scalars = {scalar(g, "rate")};
  if (o.update == "adam") scalars.push_back(scalar(g, "step"));
  for (const auto& [of, gradient] : gradients) {
    std::vector<ValueId> inputs = scalars;
    inputs.insert(inputs.end(), {of, gradient});
    const TensorType type = g.value(of).type;
    for (int state = o.update == "adam" ? 2 : o.momentum > 0 ? 1 : 0; state > 0; --state)
      inputs.push_back(g.add_value(
          {.name = fmt::format("{}.state{}", g.value(of).name, state), .type = type, .role = Role::state}));
    Attrs attrs = {{"l2", 0.5}, {"penalized", std::vector<std::int64_t>{type.shape.rank() == 2}}};
    if (o.momentum > 0) attrs.set("momentum", o.momentum);
    g.add_node(o.update, inputs, attrs, g.value(of).layer, Phase::update);
  }
}

// images -> fc1 -> activation -> fc2 -> cross-entropy, with gradients that the caller reads, or updates.
Built classifier(const Options& o) {
  Built b;
  Graph& g = b.graph;
  const ValueId images = g.add_value({.name = "x", .type = {{4, 6}, DType::f32}, .role = Role::input});
  const ValueId labels = g.add_value({.name = "labels", .type = {{4}, DType::i32}, .role = Role::input});
  const ValueId x =
      o.deeper ? g.add_node("linear", {images, parameter(g, "w0", {6, 6}, "fc0")}, {}, "fc0")[0] : images;
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
  std::vector<ValueId> wanted = g.with_role(Role::parameter);
  if (o.image_gradient) wanted.push_back(images);
  b.gradients = differentiate(g, b.loss, wanted);
  if (!o.update.empty()) add_updates(g, b.gradients, o);
  if (o.penalty) {
    b.loss = g.add_node("l2_penalty", {b.loss, g.find("w1"), g.find("w2")},
                        {{"lambda", 0.5}, {"has_base", std::int64_t{1}}}, "loss")[0];
    g.outputs[0] = b.loss;
  }
  if (o.tally) {
    const ValueId sums =
        g.add_value({.name = "sums", .type = {{8}, DType::f64}, .role = Role::scalar, .layer = {}});
    g.add_node("tally", {b.loss, g.outputs[1], sums}, {{"count", std::int64_t{4}}}, "loss", Phase::update);
  }
  for (const auto& [of, gradient] : b.gradients)
    if (o.update.empty()) g.outputs.push_back(gradient);
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

bool any_classifier(const Problem&) { return true; }

TEST(FuseSmallClassifier, AStepIsOneNode) {
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    Built b = classifier({.activation = activation});
    fuse_head(b.graph);
    const std::vector<ValueId> outputs = b.graph.outputs;
    fuse_small_classifier(b.graph, any_classifier);
    ASSERT_EQ(operators_in(b.graph), (std::vector<std::string>{"mlp_classifier"}));
    EXPECT_EQ(b.graph.outputs, outputs);
    const Node& node = b.graph.nodes()[0];
    EXPECT_EQ(node.attrs.text("activation"), activation);
    const Problem problem = b.graph.problem(0);
    EXPECT_EQ(schema_of("mlp_classifier").infer(problem.inputs, problem.attrs), problem.outputs);
    std::size_t output = 2;
    for (const char* of : {"w1", "b1", "w2", "b2"})
      EXPECT_EQ(node.outputs[output++], b.gradients.at(b.graph.find(of))) << of;
    for (ValueId id : outputs) EXPECT_NE(b.graph.value(id).producer, kNone) << b.graph.value(id).name;
  }
}

TEST(FuseSmallClassifier, EveryLayerIsChargedForItsPart) {
  Built b = classifier({});
  fuse_head(b.graph);
  fuse_small_classifier(b.graph, any_classifier);
  double sum = 0;
  std::map<std::pair<std::string, Phase>, double> shares;
  for (const Charge& c : b.graph.nodes().at(0).charges) sum += c.share, shares[{c.layer, c.phase}] += c.share;
  EXPECT_NEAR(sum, 1, 1e-12);
  for (const char* layer : {"fc1", "fc2", "loss"})
    for (Phase phase : {Phase::forward, Phase::backward}) EXPECT_GT((shares[{layer, phase}]), 0) << layer;
}

TEST(FuseSmallClassifier, AnythingElseIsLeftAlone) {
  const std::vector<std::pair<const char*, Options>> cases = {
      {"a layer before", {.deeper = true}},
      {"the gradient of the images", {.image_gradient = true}},
      {"no activation", {.activation = ""}},
      {"the hidden layer is read", {.read_twice = true}}};
  for (const auto& [what, options] : cases) {
    Built b = classifier(options);
    fuse_head(b.graph);
    const std::vector<std::string> before = operators_in(b.graph);
    fuse_small_classifier(b.graph, any_classifier);
    EXPECT_EQ(operators_in(b.graph), before) << what;
  }
  Built b = classifier({});
  fuse_head(b.graph);
  const std::vector<std::string> before = operators_in(b.graph);
  fuse_small_classifier(b.graph, [](const Problem&) { return false; });
  EXPECT_EQ(operators_in(b.graph), before) << "not wanted";
  Graph empty;
  EXPECT_NO_THROW(fuse_small_classifier(empty, any_classifier));
}

// The step of a small classifier with its update, as far as passes fuse it; the last word is the update's.
std::vector<std::string> step_of(Built& b, const std::function<bool(const Problem&)>& wanted) {
  fuse_head(b.graph);
  fuse_small_classifier(b.graph, any_classifier);
  fuse_classifier_update(b.graph, wanted);
  return operators_in(b.graph);
}

TEST(FuseClassifierUpdate, AStepWithPlainSgdIsOneNode) {
  Built b = classifier({.update = "sgd"});
  ASSERT_EQ(step_of(b, any_classifier), (std::vector<std::string>{"mlp_classifier"}));
  const Node& node = b.graph.nodes()[0];
  EXPECT_EQ(node.phase, Phase::update);
  EXPECT_EQ(b.graph.value(node.inputs.back()).name, "rate");
  EXPECT_EQ(node.attrs.real("l2"), 0.5);
  EXPECT_EQ(node.attrs.integers("penalized", {}), (std::vector<std::int64_t>{1, 0, 1, 0}));
  const Problem problem = b.graph.problem(0);
  EXPECT_EQ(schema_of("mlp_classifier").infer(problem.inputs, problem.attrs), problem.outputs);
  EXPECT_EQ(schema_of("mlp_classifier").aliases(problem), (std::vector<int>{-1, -1, 1, 2, 3, 4}));
  double sum = 0, update = 0;
  for (const Charge& c : node.charges) sum += c.share, update += c.phase == Phase::update ? c.share : 0;
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_GT(update, 0);
}

TEST(FuseClassifierUpdate, PenaltyAndTallyJoin) {
  for (const bool penalty : {false, true})
    for (const bool tally : {false, true}) {
      Built b = classifier({.update = "sgd", .penalty = penalty, .tally = tally});
      ASSERT_EQ(step_of(b, any_classifier), (std::vector<std::string>{"mlp_classifier"})) << penalty << tally;
      const Node& node = b.graph.nodes()[0];
      EXPECT_EQ(node.outputs[0], b.loss);
      EXPECT_EQ(node.attrs.integer("penalty"), penalty);
      EXPECT_EQ(node.attrs.integer("count", 0), tally ? 4 : 0);
      EXPECT_EQ(node.outputs.size(), tally ? 7u : 6u);
      const Problem problem = b.graph.problem(0);
      EXPECT_EQ(schema_of("mlp_classifier").infer(problem.inputs, problem.attrs), problem.outputs);
    }
  Built b = classifier({.update = "sgd", .penalty = true});
  std::vector<Node> nodes = b.graph.nodes();
  for (Node& node : nodes)
    if (node.op == "l2_penalty") node.attrs.set("lambda", 0.25);
  b.graph.replace_nodes(std::move(nodes));
  EXPECT_EQ(step_of(b, any_classifier), (std::vector<std::string>{"mlp_classifier", "l2_penalty", "sgd"}))
      << "another penalty than the update's";
}

TEST(FuseClassifierUpdate, AnythingElseIsLeftAlone) {
  const std::vector<std::string> apart = {"mlp_classifier", "sgd"};
  Built momentum = classifier({.update = "sgd", .momentum = 0.9});
  EXPECT_EQ(step_of(momentum, any_classifier), apart);
  Built adam = classifier({.update = "adam"});
  EXPECT_EQ(step_of(adam, any_classifier), (std::vector<std::string>{"mlp_classifier", "adam"}));
  Built unwanted = classifier({.update = "sgd"});
  EXPECT_EQ(step_of(unwanted, [](const Problem&) { return false; }), apart);
  Built gradient = classifier({.update = "sgd"});
  gradient.graph.outputs.push_back(gradient.gradients.begin()->second);
  EXPECT_EQ(step_of(gradient, any_classifier), apart) << "the caller reads a gradient";
  Built loss = classifier({.update = "sgd"});
  loss.graph.outputs.push_back(loss.graph.add_node("relu", {loss.loss}, {}, "other")[0]);
  EXPECT_EQ(step_of(loss, any_classifier), (std::vector<std::string>{"mlp_classifier", "sgd", "relu"}))
      << "the loss is read in the forward pass";
  Graph empty;
  EXPECT_NO_THROW(fuse_classifier_update(empty, any_classifier));
}

}  // namespace
}  // namespace headroom
