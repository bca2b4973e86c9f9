#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/autodiff.h"
#include "ops/testing/graph_run.h"
#include "passes/passes.h"
#include "plan/plan.h"

namespace headroom {
namespace {

Target gpu(bool tf32 = true) {
  return {{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132}, {.tf32 = tf32}};
}

int count(const Graph& graph, std::string_view op) {
  return static_cast<int>(
      std::count_if(graph.nodes().begin(), graph.nodes().end(), [&](const Node& n) { return n.op == op; }));
}

std::vector<const Node*> all(const Graph& graph, std::string_view op) {
  std::vector<const Node*> list;
  for (const Node& node : graph.nodes())
    if (node.op == op) list.push_back(&node);
  return list;
}

// A block with a residual connection: conv, norm, relu, conv, norm, sum, relu; then a mean over each map.
struct Block {
  Graph graph;
  ValueId x = kNone, y = kNone, loss = kNone;
};

ValueId norm(Graph& g, ValueId x, const std::string& layer) {
  const Shape c{g.value(x).type.shape[1]};
  std::vector<ValueId> inputs = {x};
  for (const char* name : {"scale", "bias", "mean", "var"})
    inputs.push_back(g.add_value({.name = layer + "." + name,
                                  .type = {c, DType::f32},
                                  .role = name[0] == 's' || name[0] == 'b' ? Role::parameter : Role::state,
                                  .layer = layer}));
  return g.add_node("batch_norm", inputs, {}, layer)[0];
}

ValueId conv(Graph& g, ValueId x, std::int64_t maps, std::int64_t kernel, const std::string& layer) {
  const std::int64_t channels = g.value(x).type.shape[1], pad = kernel / 2;
  const ValueId w = g.add_value({.name = layer + ".weight",
                                 .type = {{maps, channels, kernel, kernel}, DType::f32},
                                 .role = Role::parameter,
                                 .layer = layer});
  return g.add_node("conv2d", {x, w}, {{"pads", std::vector<std::int64_t>{pad, pad, pad, pad}}}, layer)[0];
}

Block block(std::int64_t batch, std::int64_t channels, std::int64_t size, bool backward) {
  Block b;
  Graph& g = b.graph;
  b.x = g.add_value({.name = "images", .type = {{batch, 3, size, size}, DType::f32}, .role = Role::input});
  const ValueId stem =
      g.add_node("relu", {norm(g, conv(g, b.x, channels, 3, "stem"), "stem")}, {}, "stem")[0];
  const ValueId a = g.add_node("relu", {norm(g, conv(g, stem, channels, 1, "a"), "a")}, {}, "a")[0];
  const ValueId c = norm(g, conv(g, a, channels, 3, "b"), "b");
  const ValueId sum = g.add_node("add", {c, stem}, {}, "sum")[0];
  b.y = g.add_node("relu", {sum}, {}, "sum")[0];
  const ValueId mean = g.add_node("global_avg_pool", {b.y}, {}, "pool")[0];
  const ValueId flat = g.add_node("flatten", {mean}, {}, "flat")[0];
  const ValueId labels = g.add_value({.name = "labels", .type = {{batch}, DType::i32}, .role = Role::input});
  b.loss = g.add_node("cross_entropy", {flat, labels}, {}, "loss")[0];
  g.outputs = {b.loss};
  if (!backward) return b;
  for (const auto& [parameter, gradient] : differentiate(g, b.loss, g.with_role(Role::parameter)))
    g.outputs.push_back(gradient);
  return b;
}

TEST(Layout, PutsConvolutionsAndWhatLiesBetweenInNhwc) {
  Block b = block(32, 64, 56, true);
  drop_unused(b.graph);
  lay_out(b.graph, gpu(), LayoutWish::automatic);
  // There: images, and filters with more than one tap. Back: only the gradients of those filters.
  int there = 0, back = 0;
  for (const Node* node : all(b.graph, "relayout")) ++(node->attrs.text("layout") == "nhwc" ? there : back);
  EXPECT_EQ(there, 3);
  EXPECT_EQ(back, 2);
  for (const Node& node : b.graph.nodes())
    if (node.op.starts_with("conv2d") || node.op.starts_with("batch_norm")) {
      const TensorType& type = b.graph.value(node.outputs[0]).type;
      EXPECT_TRUE(type.lies_as(Layout::nhwc)) << node.op << " of " << node.layer;
    }
  for (ValueId id : b.graph.outputs) EXPECT_EQ(b.graph.value(id).type.layout, Layout::nchw);
  EXPECT_EQ(b.graph.value(b.graph.find("images")).type.layout, Layout::nchw);
  const Plan plan = make_plan(b.graph, {Mode::train, 32, DType::f32, gpu()});
  EXPECT_NE(plan.text().find(":nhwc"), std::string::npos) << "shown to who asks for the plan";
}

TEST(Layout, LeavesOthersAlone) {
  const auto relayouts = [](Block b, const Target& device, LayoutWish wish) {
    lay_out(b.graph, device, wish);
    return count(b.graph, "relayout");
  };
  EXPECT_EQ(relayouts(block(32, 64, 56, false), gpu(false), LayoutWish::automatic), 0) << "exact fp32";
  EXPECT_EQ(relayouts(block(32, 64, 56, false), cpu_capabilities(), LayoutWish::automatic), 0);
  EXPECT_EQ(relayouts(block(32, 64, 56, false), gpu(), LayoutWish::nchw), 0) << "the user's wish";
  EXPECT_EQ(relayouts(block(2, 64, 6, false), gpu(), LayoutWish::automatic), 0) << "too little to do";
  EXPECT_EQ(relayouts(block(32, 8, 56, false), gpu(), LayoutWish::automatic), 0) << "narrow";
  EXPECT_GT(relayouts(block(32, 8, 56, false), gpu(), LayoutWish::nhwc), 0);
}

TEST(Layout, FoldsReluAndSumsIntoNorms) {
  Block b = block(32, 64, 56, true);
  drop_unused(b.graph);
  lay_out(b.graph, gpu(), LayoutWish::automatic);
  EXPECT_EQ(count(b.graph, "relu"), 0);
  EXPECT_EQ(count(b.graph, "relu_grad"), 0);
  const auto norms = all(b.graph, "batch_norm"), gradients = all(b.graph, "batch_norm_grad");
  ASSERT_EQ(norms.size(), 3u);
  EXPECT_EQ(norms[2]->inputs.size(), 6u) << "with the residual input";
  for (const Node* node : norms) EXPECT_EQ(node->attrs.text("activation"), "relu") << node->layer;
  ASSERT_EQ(gradients.size(), 3u);
  EXPECT_EQ(gradients[0]->outputs.size(), 4u) << "the slope goes on along the residual connection";
  EXPECT_EQ(gradients[1]->inputs.size(), 6u) << "found again from x";
  EXPECT_EQ(gradients[2]->outputs.size(), 3u);
  EXPECT_NO_THROW(make_plan(b.graph, {Mode::train, 32, DType::f32, gpu()}));
}

// The form for reference kernels: fp64, NCHW, with relayout as a copy.
Graph plain(Graph graph) {
  for (std::size_t i = 0; i < graph.values().size(); ++i) {
    TensorType& type = graph.value(static_cast<ValueId>(i)).type;
    type = {type.shape, type.dtype == DType::f32 ? DType::f64 : type.dtype, Layout::nchw};
  }
  std::vector<Node> nodes = graph.nodes();
  for (Node& node : nodes)
    if (node.op == "relayout") node.op = "cast", node.attrs = {{"to", std::string("fp64")}};
  graph.replace_nodes(std::move(nodes));
  return graph;
}

void expect_same_numbers(const Graph& before, const Graph& after) {
  std::map<ValueId, testing::Values> known;
  for (std::size_t i = 0; i < before.values().size(); ++i) {
    const Value& value = before.values()[i];
    if (value.producer != kNone || value.role == Role::constant) continue;
    testing::Values numbers(static_cast<std::size_t>(value.type.shape.numel()));
    for (std::size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = value.type.dtype == DType::i32 ? double(k % 8) : 0.3 + std::sin(double(k * (i + 3)));
    if (value.name.ends_with(".var"))
      for (double& v : numbers) v = std::abs(v) + 0.5;
    known[static_cast<ValueId>(i)] = numbers;
  }
  const auto want = testing::interpret(plain(before), known), got = testing::interpret(plain(after), known);
  for (ValueId id : before.outputs) {
    ASSERT_EQ(want.at(id).size(), got.at(id).size());
    for (std::size_t k = 0; k < want.at(id).size(); ++k)
      EXPECT_NEAR(got.at(id)[k], want.at(id)[k], 1e-9 * (1 + std::abs(want.at(id)[k])))
          << before.value(id).name << " " << k;
  }
}

TEST(Layout, ChangesNoNumber) {
  Block b = block(3, 8, 5, true);
  drop_unused(b.graph);
  Graph laid = b.graph;
  lay_out(laid, gpu(), LayoutWish::nhwc);
  ASSERT_GT(count(laid, "relayout"), 0);
  ASSERT_EQ(count(laid, "relu"), 0);
  expect_same_numbers(b.graph, laid);
}

// Two convolutions with biases, each before a relu: the gradient of the first relu joins its bias_grad.
TEST(Layout, FoldsReluIntoGradientsOfBiases) {
  Graph g;
  ValueId x = g.add_value({.name = "images", .type = {{2, 3, 6, 6}, DType::f32}, .role = Role::input});
  for (const std::string layer : {"first", "second"}) {
    const ValueId sum = conv(g, x, 8, 3, layer);
    std::vector<Node> nodes = g.nodes();
    nodes.back().inputs.push_back(g.add_value(
        {.name = layer + ".bias", .type = {{8}, DType::f32}, .role = Role::parameter, .layer = layer}));
    g.replace_nodes(std::move(nodes));
    x = g.add_node("relu", {sum}, {}, layer)[0];
  }
  const ValueId flat =
      g.add_node("flatten", {g.add_node("global_avg_pool", {x}, {}, "pool")[0]}, {}, "flat")[0];
  const ValueId labels = g.add_value({.name = "labels", .type = {{2}, DType::i32}, .role = Role::input});
  const ValueId loss = g.add_node("cross_entropy", {flat, labels}, {}, "loss")[0];
  g.outputs = {loss};
  for (const auto& [parameter, gradient] : differentiate(g, loss, g.with_role(Role::parameter)))
    g.outputs.push_back(gradient);
  drop_unused(g);
  Graph laid = g;
  lay_out(laid, gpu(), LayoutWish::nhwc);
  EXPECT_EQ(count(laid, "relu_grad"), 0);
  const auto sums = all(laid, "bias_grad");
  ASSERT_EQ(sums.size(), 2u);
  for (const Node* node : sums) EXPECT_EQ(node->outputs.size(), 2u);
  expect_same_numbers(g, laid);
}

// Many small casts cost one launch: copies of parameters, and gradients for the update.
TEST(Casts, OfParametersAndOfSmallGradientsAreOneEach) {
  Graph g;
  const auto value = [&](const std::string& name, const Shape& shape, DType dtype, Role role) {
    return g.add_value({.name = name, .type = {shape, dtype}, .role = role});
  };
  std::vector<ValueId> wide;
  const ValueId x = value("x", {4, 6}, DType::bf16, Role::input);
  const Attrs narrow{{"to", std::string("bf16")}}, widen{{"to", std::string("fp32")}};
  for (const char* name : {"a", "b", "c"}) {
    const ValueId w = value(name, {4, 6}, DType::f32, Role::parameter);
    const ValueId half = g.add_node("cast", {w}, narrow, name)[0];
    const ValueId used = g.add_node("mul", {x, half}, {}, name)[0];
    wide.push_back(g.add_node("cast", {used}, widen, name, Phase::backward)[0]);
  }
  const ValueId rate = value("rate", {1}, DType::f64, Role::scalar);
  for (std::size_t i = 0; i < wide.size(); ++i)
    g.add_node("sgd", {rate, g.find(std::string(1, char('a' + i))), wide[i]}, {}, "update", Phase::update);
  gather_casts(g);
  EXPECT_EQ(count(g, "cast"), 0);
  const auto casts = all(g, "cast_all");
  ASSERT_EQ(casts.size(), 2u);
  EXPECT_EQ(g.nodes()[0].op, "cast_all") << "before the first that reads one";
  for (const Node* node : casts) EXPECT_EQ(node->outputs.size(), 3u);
  EXPECT_NO_THROW(make_plan(g, {Mode::train, 4, DType::bf16, gpu()}));
}

TEST(Layout, KnowsItsNames) {
  EXPECT_EQ(parse_layout_wish("auto"), LayoutWish::automatic);
  EXPECT_EQ(parse_layout_wish("nhwc"), LayoutWish::nhwc);
  EXPECT_FALSE(parse_layout_wish("nhcw").has_value());
}

}  // namespace
}  // namespace headroom
