#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/autodiff.h"
#include "ops/testing/graph_run.h"
#include "passes/passes.h"
#include "plan/plan.h"

namespace headroom {
namespace {

Capabilities gpu(bool tf32 = true) {
  Capabilities c;
  c.kind = DeviceKind::cuda;
  c.compute_capability = 90;
  c.multiprocessors = 132;
  c.tf32 = tf32;
  return c;
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
  // Images, and the filters of more than one tap; back come only the gradients of those filters.
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
  const auto relayouts = [](Block b, const Capabilities& device, LayoutWish wish) {
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

// The same numbers, whatever the layout: graphs are run by reference kernels, which know relayout, from which
// the layouts are taken away again.
TEST(Layout, ChangesNoNumber) {
  Block b = block(3, 8, 5, true);
  drop_unused(b.graph);
  Graph laid = b.graph;
  lay_out(laid, gpu(), LayoutWish::nhwc);
  ASSERT_GT(count(laid, "relayout"), 0);
  ASSERT_EQ(count(laid, "relu"), 0);
  for (Graph* graph : {&b.graph, &laid})
    for (std::size_t i = 0; i < graph->values().size(); ++i) {
      TensorType& type = graph->value(static_cast<ValueId>(i)).type;
      type = {type.shape, type.dtype == DType::f32 ? DType::f64 : type.dtype, Layout::nchw};
    }
  // As NCHW, relayout is a copy.
  std::vector<Node> nodes = laid.nodes();
  for (Node& node : nodes)
    if (node.op == "relayout") node.op = "cast", node.attrs = {{"to", std::string("fp64")}};
  laid.replace_nodes(std::move(nodes));
  std::map<ValueId, testing::Values> known;
  for (std::size_t i = 0; i < b.graph.values().size(); ++i) {
    const Value& value = b.graph.values()[i];
    if (value.producer != kNone) continue;
    testing::Values numbers(static_cast<std::size_t>(value.type.shape.numel()));
    for (std::size_t k = 0; k < numbers.size(); ++k)
      numbers[k] = value.type.dtype == DType::i32 ? double(k % 8) : 0.3 + std::sin(double(k * (i + 3)));
    if (value.name.ends_with(".var"))
      for (double& v : numbers) v = std::abs(v) + 0.5;
    known[static_cast<ValueId>(i)] = numbers;
  }
  const auto want = testing::interpret(b.graph, known), got = testing::interpret(laid, known);
  for (ValueId id : b.graph.outputs) {
    ASSERT_EQ(want.at(id).size(), got.at(id).size());
    for (std::size_t k = 0; k < want.at(id).size(); ++k)
      EXPECT_NEAR(got.at(id)[k], want.at(id)[k], 1e-9 * (1 + std::abs(want.at(id)[k])))
          << b.graph.value(id).name << " " << k;
  }
}

TEST(Layout, KnowsItsNames) {
  EXPECT_EQ(parse_layout_wish("auto"), LayoutWish::automatic);
  EXPECT_EQ(parse_layout_wish("nhwc"), LayoutWish::nhwc);
  EXPECT_FALSE(parse_layout_wish("nhcw").has_value());
}

}  // namespace
}  // namespace headroom
