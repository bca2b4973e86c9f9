#include <gtest/gtest.h>

#include <numeric>

#include "passes/passes.h"

namespace headroom {
namespace {

using Integers = std::vector<std::int64_t>;

ValueId value(Graph& g, std::string name, Shape shape, Role role, std::string layer = {}) {
  return g.add_value(
      {.name = std::move(name), .type = {shape, DType::f32}, .role = role, .layer = std::move(layer)});
}

struct Small {
  Graph graph;
  ValueId sum = kNone, y = kNone;
};

Small linear_then(const char* activation, const char* activation_layer) {
  Small s;
  const ValueId x = value(s.graph, "x", {2, 3}, Role::input),
                w = value(s.graph, "w", {4, 3}, Role::parameter);
  s.sum = s.graph.add_node("linear", {x, w}, {}, "fc")[0];
  s.y = s.graph.add_node(activation, {s.sum}, {}, activation_layer)[0];
  s.graph.outputs = {s.y};
  return s;
}

double total(const std::vector<Charge>& charges) {
  return std::accumulate(charges.begin(), charges.end(), 0.0,
                         [](double sum, const Charge& c) { return sum + c.share; });
}

TEST(Fuse, AnActivationJoinsTheProductBeforeIt) {
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    Small s = linear_then(activation, "fc");
    fuse(s.graph);
    ASSERT_EQ(s.graph.nodes().size(), 1u);
    const Node& node = s.graph.nodes()[0];
    EXPECT_EQ(node.op, "linear");
    EXPECT_EQ(node.attrs.text("activation"), activation);
    EXPECT_EQ(node.outputs, std::vector<ValueId>{s.y});
    EXPECT_EQ(s.graph.value(s.y).producer, 0);
    EXPECT_TRUE(node.charges.empty()) << "one layer alone: nothing to share";
  }
}

TEST(Fuse, ASumWithAnotherReaderStays) {
  Small read_twice = linear_then("relu", "fc");
  read_twice.graph.add_node("tanh", {read_twice.sum}, {}, "other");
  fuse(read_twice.graph);
  EXPECT_EQ(read_twice.graph.nodes().size(), 3u);

  Small wanted = linear_then("relu", "fc");
  wanted.graph.outputs.push_back(wanted.sum);  // the caller reads it after the run
  fuse(wanted.graph);
  EXPECT_EQ(wanted.graph.nodes().size(), 2u);
  EXPECT_FALSE(wanted.graph.nodes()[0].attrs.has("activation"));
}

TEST(Fuse, OnlyOneActivationAndOnlyAfterAProduct) {
  Small s = linear_then("relu", "fc");
  const ValueId more = s.graph.add_node("tanh", {s.y}, {}, "more")[0];
  s.graph.outputs = {more};
  fuse(s.graph);
  ASSERT_EQ(s.graph.nodes().size(), 2u);
  EXPECT_EQ(s.graph.nodes()[1].op, "tanh");
  fuse(s.graph);
  EXPECT_EQ(s.graph.nodes().size(), 2u) << "a product that has one takes no second";
}

// linear moves x (24 bytes), w (48) and the sum (32), and does 48 FLOPs; relu changes 8 numbers on their way.
// A FLOP counts as a tenth of a byte.
TEST(Fuse, ChargesAreSplitByWhatEachPartAdds) {
  Small s = linear_then("relu", "act");
  fuse(s.graph);
  const auto& charges = s.graph.nodes().at(0).charges;
  ASSERT_EQ(charges.size(), 2u);
  EXPECT_EQ(charges[0].layer, "fc");
  EXPECT_DOUBLE_EQ(charges[0].share, 108.8 / 109.6);
  EXPECT_EQ(charges[1].layer, "act");
  EXPECT_DOUBLE_EQ(charges[1].share, 0.8 / 109.6);
  EXPECT_DOUBLE_EQ(total(charges), 1);
}

struct Backward {
  Graph graph;
  ValueId y = kNone, dy = kNone, dx = kNone;
};

// The input gradient of a layer "out" and the activation's of the layer before it.
Backward backward_through(const char* gradient) {
  Backward b;
  const ValueId dz = value(b.graph, "dz", {2, 3}, Role::input),
                w = value(b.graph, "w", {3, 4}, Role::parameter);
  b.y = value(b.graph, "y", {2, 4}, Role::input);
  b.dy = b.graph.add_node("matmul", {dz, w}, {}, "out", Phase::backward)[0];
  b.dx = b.graph.add_node(gradient, {b.dy, b.y}, {}, "hidden", Phase::backward)[0];
  b.graph.outputs = {b.dx};
  return b;
}

// matmul moves dz (24 bytes), w (48) and dy (32) and does 48 FLOPs; the activation's gradient reads y (32)
// and does 1 or 3 FLOPs for each of 8 numbers.
TEST(Fuse, TheGradientOfAnActivationJoinsTheMatmulBeforeIt) {
  for (const char* activation : {"relu", "sigmoid", "tanh"}) {
    Backward b = backward_through((std::string(activation) + "_grad").c_str());
    fuse(b.graph);
    ASSERT_EQ(b.graph.nodes().size(), 1u);
    const Node& node = b.graph.nodes()[0];
    EXPECT_EQ(node.op, "matmul");
    EXPECT_EQ(node.attrs.text("activation_grad"), activation);
    ASSERT_EQ(node.inputs.size(), 3u);
    EXPECT_EQ(node.inputs[2], b.y);
    EXPECT_EQ(node.outputs, std::vector<ValueId>{b.dx});
    ASSERT_EQ(node.charges.size(), 2u);
    EXPECT_EQ(node.charges[1].layer, "hidden");
    const double added = 32 + 0.8 * (std::string(activation) == "relu" ? 1 : 3);
    EXPECT_DOUBLE_EQ(node.charges[1].share, added / (108.8 + added));
    const Problem problem = b.graph.problem(0);
    EXPECT_EQ(schema_of("matmul").infer(problem.inputs, problem.attrs), problem.outputs);
  }
}

// A flattening layer between the two: a matrix for the product, images for the activation.
Backward backward_through_a_view(bool seen_before) {
  Backward b;
  Graph& g = b.graph;
  const ValueId dz = value(g, "dz", {2, 3}, Role::input), w = value(g, "w", {3, 4}, Role::parameter);
  b.y = value(g, "y", {2, 4, 1, 1}, Role::input);
  if (seen_before) g.add_node("reshape", {b.y}, {{"shape", Integers{2, 4}}}, "flat");
  b.dy = g.add_node("matmul", {dz, w}, {}, "out", Phase::backward)[0];
  const ValueId view =
      g.add_node("reshape", {b.dy}, {{"shape", Integers{2, 4, 1, 1}}}, "flat", Phase::backward)[0];
  b.dx = g.add_node("relu_grad", {view, b.y}, {}, "hidden", Phase::backward)[0];
  g.outputs = {b.dx};
  return b;
}

TEST(Fuse, TheGradientOfAnActivationPassesAView) {
  Backward b = backward_through_a_view(true);
  fuse(b.graph);
  ASSERT_EQ(b.graph.nodes().size(), 3u);
  const Node &seen = b.graph.nodes()[0], &product = b.graph.nodes()[1], &view = b.graph.nodes()[2];
  EXPECT_EQ(product.attrs.text("activation_grad"), "relu");
  EXPECT_EQ(product.inputs.at(2), seen.outputs[0]);
  EXPECT_EQ(product.outputs, std::vector<ValueId>{b.dy});
  EXPECT_EQ(view.inputs, std::vector<ValueId>{b.dy});
  EXPECT_EQ(view.outputs, std::vector<ValueId>{b.dx});
  EXPECT_EQ(b.graph.value(b.dx).producer, 2);
  const Problem problem = b.graph.problem(1);
  EXPECT_EQ(schema_of("matmul").infer(problem.inputs, problem.attrs), problem.outputs);

  Backward unseen = backward_through_a_view(false);
  fuse(unseen.graph);
  EXPECT_EQ(unseen.graph.nodes().size(), 3u) << "nobody looks at y as a matrix";
}

// Pooling after an activation: y is 2 x 1 x 4 x 4, 128 bytes; the maxima are 32 bytes.
TEST(Fuse, TheGradientOfAnActivationJoinsThatOfThePoolAfterIt) {
  for (const char* activation : {"relu", "sigmoid", "tanh"})
    for (bool other : {false, true}) {
      Graph g;
      const ValueId y = value(g, "y", {2, 1, 4, 4}, Role::input),
                    z = value(g, "z", {2, 1, 4, 4}, Role::input);
      const ValueId top = value(g, "top", {2, 1, 2, 2}, Role::input),
                    dtop = value(g, "dtop", {2, 1, 2, 2}, Role::input);
      const ValueId dy = g.add_node("max_pool_grad", {dtop, y, top}, {{"kernel", Integers{2, 2}}}, "pool",
                                    Phase::backward)[0];
      const ValueId dx =
          g.add_node(std::string(activation) + "_grad", {dy, other ? z : y}, {}, "conv", Phase::backward)[0];
      g.outputs = {dx};
      fuse(g);
      ASSERT_EQ(g.nodes().size(), other ? 2u : 1u) << "only of what was pooled";
      if (other) continue;
      const Node& node = g.nodes()[0];
      EXPECT_EQ(node.attrs.text("activation_grad"), activation);
      EXPECT_EQ(node.inputs, (std::vector<ValueId>{dtop, y, top}));
      EXPECT_EQ(node.outputs, std::vector<ValueId>{dx});
      ASSERT_EQ(node.charges.size(), 2u);
      // The pool's gradient moves 320 bytes and does 32 FLOPs; the activation's finds everything there.
      const double added = 3.2 * (std::string(activation) == "relu" ? 1 : 3);
      EXPECT_DOUBLE_EQ(node.charges[0].share, 323.2 / (323.2 + added));
      const Problem problem = g.problem(0);
      EXPECT_EQ(schema_of("max_pool_grad").infer(problem.inputs, problem.attrs), problem.outputs);
    }
}

TEST(Fuse, AGradientThatOthersReadOrThatComesTooEarlyStays) {
  Backward wanted = backward_through("tanh_grad");
  wanted.graph.outputs.push_back(wanted.dy);
  fuse(wanted.graph);
  EXPECT_EQ(wanted.graph.nodes().size(), 2u);

  Graph g;  // y is made after the product
  const ValueId a = value(g, "a", {2, 2}, Role::input);
  const ValueId dy = g.add_node("matmul", {a, a}, {}, "out")[0], y = g.add_node("tanh", {a}, {}, "hidden")[0];
  g.outputs = {g.add_node("tanh_grad", {dy, y}, {}, "hidden")[0]};
  fuse(g);
  EXPECT_EQ(g.nodes().size(), 3u);
}

TEST(Fuse, TheLossCountsTheCorrectRows) {
  Graph g;
  const ValueId scores = value(g, "scores", {4, 3}, Role::input);
  const ValueId labels = g.add_value({.name = "labels", .type = {{4}, DType::i32}, .role = Role::input});
  const ValueId other = g.add_value({.name = "other", .type = {{4}, DType::i32}, .role = Role::input});
  const ValueId loss = g.add_node("cross_entropy", {scores, labels}, {}, "loss")[0];
  const ValueId stays = g.add_node("count_correct", {scores, other}, {}, "loss")[0];
  const ValueId count = g.add_node("count_correct", {scores, labels}, {}, "loss")[0];
  g.outputs = {loss, stays, count};
  fuse(g);
  ASSERT_EQ(g.nodes().size(), 2u);
  EXPECT_EQ(g.nodes()[0].outputs.size(), 3u);
  EXPECT_EQ(g.nodes()[0].outputs[2], count);
  EXPECT_EQ(g.value(count).producer, 0);
  const Problem problem = g.problem(0);
  EXPECT_EQ(schema_of("cross_entropy").infer(problem.inputs, problem.attrs), problem.outputs);
}

struct Updates {
  Graph graph;
  ValueId rate = kNone;
  void add(const std::string& name, const std::string& layer, Shape shape, Attrs attrs) {
    const ValueId p = value(graph, name, shape, Role::parameter, layer);
    const ValueId g = value(graph, name + ".gradient", shape, Role::input);
    graph.add_node("sgd", {rate, p, g}, std::move(attrs), layer, Phase::update);
  }
};

Updates with_rate() {
  Updates u;
  u.rate = u.graph.add_value({.name = "rate", .type = {{1}, DType::f64}, .role = Role::scalar});
  return u;
}

TEST(Fuse, AllUpdatesBecomeOneThatChargesEveryLayer) {
  Updates u = with_rate();
  u.add("a.weight", "a", {10, 10}, {{"l2", 0.1}, {"penalized", Integers{1}}});
  u.add("a.bias", "a", {10}, {{"l2", 0.1}, {"penalized", Integers{0}}});
  u.add("b.weight", "b", {100}, {{"l2", 0.1}, {"penalized", Integers{1}}});
  fuse(u.graph);
  ASSERT_EQ(u.graph.nodes().size(), 1u);
  const Node& all = u.graph.nodes()[0];
  EXPECT_EQ(all.inputs, (std::vector<ValueId>{0, 1, 2, 4, 5, 7, 8}));
  EXPECT_EQ(all.outputs, (std::vector<ValueId>{3, 6, 9}));
  EXPECT_EQ(all.attrs.integers("penalized"), (Integers{1, 0, 1}));
  ASSERT_EQ(all.charges.size(), 2u);
  // Each update moves its tensor three times; the first reads the rate, 8 bytes. A penalised number takes 4
  // FLOPs, another 2: 1,208 + 40 and 120 + 2 for a, 1,200 + 40 for b.
  EXPECT_EQ(all.charges[0].layer, "a");
  EXPECT_DOUBLE_EQ(all.charges[0].share, 1370.0 / 2610);
  EXPECT_EQ(all.charges[1].layer, "b");
  EXPECT_EQ(all.charges[1].phase, Phase::update);
  EXPECT_DOUBLE_EQ(total(all.charges), 1);
}

TEST(Fuse, UpdatesOfUnlikeSettingsStayApart) {
  for (const Attrs& other : {Attrs{{"l2", 0.2}}, Attrs{{"l2", 0.1}, {"penalized", Integers{1}}}}) {
    Updates u = with_rate();
    u.add("a", "a", {10}, {{"l2", 0.1}});
    u.add("b", "b", {10}, other);
    fuse(u.graph);
    const bool same = other.real("l2") == 0.1;
    EXPECT_EQ(u.graph.nodes().size(), same ? 1u : 2u);
    if (!same) continue;
    EXPECT_EQ(u.graph.nodes()[0].attrs.integers("penalized"), (Integers{0, 1})) << "absent is not penalized";
  }
}

// Two scalars and two states: the pass asks the operator for the positions of its tensors.
TEST(Fuse, UpdatesOfEveryOptimizerAreGathered) {
  Updates u = with_rate();
  Graph& g = u.graph;
  const ValueId step = g.add_value({.name = "step", .type = {{1}, DType::f64}, .role = Role::scalar});
  std::vector<ValueId> inputs = {u.rate, step};
  for (const char* name : {"a", "b"}) {
    std::vector<ValueId> own = {u.rate, step};
    for (const char* what : {"", ".gradient", ".m", ".v"})
      own.push_back(value(g, std::string(name) + what, {4}, Role::state));
    inputs.insert(inputs.end(), own.begin() + 2, own.end());
    g.add_node("adam", own, {{"penalized", Integers{*name == 'a'}}}, name, Phase::update);
  }
  u.add("c", "c", {10}, {});  // another optimizer stays separate
  fuse(g);
  ASSERT_EQ(g.nodes().size(), 2u);
  EXPECT_EQ(g.nodes()[0].op, "adam");
  EXPECT_EQ(g.nodes()[0].inputs, inputs);
  EXPECT_EQ(g.nodes()[0].outputs.size(), 6u);
  EXPECT_EQ(g.nodes()[0].attrs.integers("penalized"), (Integers{1, 0}));
  EXPECT_DOUBLE_EQ(total(g.nodes()[0].charges), 1);
  EXPECT_EQ(g.nodes()[1].op, "sgd");
}

TEST(DropUnused, KeepsOutputsUpdatesAndWhatTheyRead) {
  Updates u = with_rate();
  Graph& g = u.graph;
  const ValueId x = value(g, "x", {10}, Role::input), p = value(g, "p", {10}, Role::parameter);
  const ValueId wanted = g.add_node("relu", {x}, {}, "wanted")[0];
  const ValueId dead = g.add_node("tanh", {x}, {}, "dead")[0];
  g.add_node("relu", {dead}, {}, "dead too");
  const ValueId gradient = g.add_node("sigmoid", {x}, {}, "gradient", Phase::backward)[0];
  g.add_node("sgd", {u.rate, p, gradient}, {}, "update", Phase::update);
  g.outputs = {wanted};
  drop_unused(g);
  std::vector<std::string> layers;
  for (const Node& node : g.nodes()) layers.push_back(node.layer);
  EXPECT_EQ(layers, (std::vector<std::string>{"wanted", "gradient", "update"}));
  EXPECT_EQ(g.value(gradient).producer, 1);
  EXPECT_EQ(g.value(dead).producer, kNone);
}

}  // namespace
}  // namespace headroom
