#include "plan/memory_timeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "plan/storage.h"
#include "plan/testing/small_net.h"

namespace headroom {
namespace {

using testing::cpu_binding;
using testing::small_net;

// Kernels need no workspace, except that of `op`. The plans here are read, not run.
Chooser with_workspace(std::string op, std::size_t bytes) {
  return [=](const Problem& problem, const Target&) -> Choice {
    static Kernel kernel{.name = "hand"};
    kernel.workspace = [bytes](const Problem&, const Target&) { return bytes; };
    return {.kernel = problem.op == op ? &kernel : nullptr, .why = "by hand"};
  };
}
Chooser without_workspace() { return with_workspace("", 0); }

// 64 bytes a row.
ValueId rows_input(Graph& graph, std::int64_t rows) {
  return graph.add_value({.name = "x", .type = {{rows, 16}, DType::f32}, .role = Role::input});
}
ValueId then(Graph& graph, const char* op, ValueId from, const char* layer) {
  return graph.add_node(op, {from}, {}, layer)[0];
}

std::vector<std::int64_t> arena_of(const MemoryTimeline& timeline) {
  std::vector<std::int64_t> bytes;
  for (const MemoryBytes& step : timeline.steps) bytes.push_back(step.arena());
  return bytes;
}

// a, b and c have 512 bytes each; a step needs its input and its output.
TEST(MemoryTimeline, AChainHoldsTwoValuesAtATime) {
  Graph g;
  const ValueId a = then(g, "tanh", rows_input(g, 8), "first");
  g.outputs = {then(g, "tanh", then(g, "tanh", a, "second"), "third")};
  const Plan plan = make_plan(g, cpu_binding(Mode::infer, 8), without_workspace());
  const MemoryTimeline t = memory_timeline(plan);
  EXPECT_EQ(arena_of(t), (std::vector<std::int64_t>{512, 1024, 1024}));
  EXPECT_EQ(t.peak_step, 1);
  EXPECT_EQ(t.peak[MemoryKind::activations], 1024);
  EXPECT_EQ(t.peak[MemoryKind::inputs], 512);
  EXPECT_EQ(t.peak.total(), 1536);
  EXPECT_EQ(t.arena_bytes, 1024);
  ASSERT_EQ(t.alive.size(), 2u);
  EXPECT_EQ(t.alive[0].layer, "first");
  EXPECT_EQ(t.alive[0].first, 0);
  EXPECT_EQ(t.alive[0].last_use, 1);
  EXPECT_EQ(t.alive[1].layer, "second");
  EXPECT_EQ(t.alive[1].first, 1);
  EXPECT_EQ(t.alive[1].last_use, 2);
}

// The view is an output of the graph, so that the value behind it stays to the end.
TEST(MemoryTimeline, AViewKeepsItsBase) {
  Graph g;
  const ValueId a = then(g, "tanh", rows_input(g, 8), "first");
  const ValueId view = g.add_node("reshape", {a}, {{"shape", std::vector<std::int64_t>{128}}}, "view")[0];
  const ValueId c = then(g, "tanh", then(g, "tanh", view, "second"), "third");
  for (const bool kept : {false, true}) {
    g.outputs = kept ? std::vector<ValueId>{c, view} : std::vector<ValueId>{c};
    const MemoryTimeline t = memory_timeline(make_plan(g, cpu_binding(Mode::infer, 8), without_workspace()));
    EXPECT_EQ(arena_of(t), (std::vector<std::int64_t>{512, 1024, kept ? 1536 : 1024}));
    EXPECT_EQ(t.peak_step, kept ? 2 : 1);
    EXPECT_EQ(t.alive[0].last_use, kept ? 3 : 1) << "3: read after the run";
  }
}

TEST(MemoryTimeline, AWorkspaceLivesForItsStepAlone) {
  Graph g;
  const ValueId a = then(g, "tanh", rows_input(g, 1), "first");
  g.outputs = {then(g, "tanh", then(g, "relu", a, "second"), "third")};
  const Plan plan = make_plan(g, cpu_binding(Mode::infer, 1), with_workspace("relu", 1000));
  const MemoryTimeline t = memory_timeline(plan);
  EXPECT_EQ(arena_of(t), (std::vector<std::int64_t>{64, 1128, 128}));
  EXPECT_EQ(t.peak[MemoryKind::workspace], 1000);
  EXPECT_EQ(t.arena_bytes, 1024 + 256 + 256) << "each piece begins at a multiple of 256";
  ASSERT_EQ(t.alive.size(), 3u);
  EXPECT_EQ(t.alive[0].kind, MemoryKind::workspace) << "the largest is first";
  EXPECT_EQ(t.alive[0].name, "workspace of step 1");
  EXPECT_EQ(t.alive[0].layer, "second");
  EXPECT_EQ(t.alive[0].last_use, 1);
}

// Of the small net, by hand: fc1 has 5x6 + 5 parameters, fc2 3x5; 4 images of 6 numbers, 4 labels. Step 7 is
// the peak: it makes the last gradient (bias, 5) from that of fc1's output (4x5), beside the gradients of
// both weights (5x6 and 3x5), scores (4x3) and loss (1). Cross-entropy keeps its divisor, a constant.
TEST(MemoryTimeline, OfATrainingStepByHand) {
  const Plan plan = make_plan(small_net(4).graph, cpu_binding(Mode::train, 4), without_workspace());
  const MemoryTimeline t = memory_timeline(plan);
  EXPECT_EQ(t.peak_step, 7) << plan.text();
  EXPECT_EQ(t.peak[MemoryKind::parameters], 4 * (30 + 5 + 15));
  EXPECT_EQ(t.peak[MemoryKind::inputs], 4 * (24 + 4));
  EXPECT_EQ(t.peak[MemoryKind::optimizer_state], 0) << "plain gradient descent";
  EXPECT_EQ(t.peak[MemoryKind::other_state], 8 + 4) << "learning rate, and the gradient of the loss";
  EXPECT_EQ(t.peak[MemoryKind::gradients], 4 * (30 + 5 + 15 + 20));
  EXPECT_EQ(t.peak[MemoryKind::activations], 4 * (12 + 1));
  ASSERT_EQ(t.layers.size(), 4u);
  EXPECT_EQ(t.layers[0].layer, "fc1");
  EXPECT_EQ(t.layers[0].bytes[MemoryKind::parameters], 4 * 35);
  EXPECT_EQ(t.layers[0].bytes[MemoryKind::gradients], 4 * 35);
  EXPECT_EQ(t.layers[1].layer, "fc2");
  EXPECT_EQ(t.layers[1].bytes[MemoryKind::gradients], 4 * (15 + 20)) << "fc2 makes the gradient of its input";
  EXPECT_EQ(t.layers[3].layer, "");
  EXPECT_EQ(t.layers[3].bytes[MemoryKind::inputs], 4 * 28);
}

TEST(MemoryTimeline, TheConstantPartIsWhatStorageHolds) {
  const Plan plan = make_plan(small_net(4).graph, cpu_binding(Mode::train, 4), without_workspace());
  const auto device = open_device("cpu", 1);
  Storage storage(*device);
  storage.prepare(plan.graph, 0);
  std::int64_t stored = 0;
  for (Role role : {Role::parameter, Role::state, Role::constant, Role::scalar})
    for (const std::string& name : storage.names(role)) stored += storage.type(name).bytes();
  const MemoryBytes peak = memory_timeline(plan).peak;
  EXPECT_EQ(peak.total() - peak.arena() - peak[MemoryKind::inputs], stored);
}

// State that the forward pass reads is not the optimizer's.
TEST(MemoryTimeline, StateBelongsToTheOptimizerIfOnlyUpdatesUseIt) {
  Graph g;
  const ValueId x = rows_input(g, 2);
  const auto state = [&](const char* name) {
    return g.add_value({.name = name, .type = {{2, 16}, DType::f32}, .role = Role::state, .layer = "scale"});
  };
  const ValueId statistic = state("statistic"), momentum = state("momentum"), both = state("both");
  const ValueId y =
      g.add_node("add", {g.add_node("add", {x, statistic}, {}, "scale")[0], both}, {}, "scale")[0];
  const ValueId z = g.add_node("add", {y, momentum}, {}, "scale", Phase::update)[0];
  g.outputs = {g.add_node("add", {z, both}, {}, "scale", Phase::update)[0]};
  const MemoryTimeline t = memory_timeline(make_plan(g, cpu_binding(Mode::train, 2), without_workspace()));
  EXPECT_EQ(t.peak[MemoryKind::optimizer_state], 128);
  EXPECT_EQ(t.peak[MemoryKind::other_state], 2 * 128);
  EXPECT_EQ(t.layers[0].bytes[MemoryKind::optimizer_state], 128);
}

// The list order of two streams is not the order in time, so memory stays until they join.
TEST(MemoryTimeline, MemoryOfTheSecondStreamIsHeldUntilTheJoin) {
  Binding binding = cpu_binding(Mode::train, 4);
  const Plan one = make_plan(small_net(4).graph, binding, without_workspace());
  binding.streams = 2;
  const Plan two = make_plan(small_net(4).graph, binding, without_workspace());
  const MemoryTimeline t = memory_timeline(two);
  EXPECT_GT(t.peak.arena(), memory_timeline(one).peak.arena());
  EXPECT_LE(t.peak.arena(), t.arena_bytes);
  const auto held = [](const MemoryTimeline::Piece& piece) { return piece.last > piece.last_use; };
  EXPECT_TRUE(std::ranges::any_of(t.alive, held));
  EXPECT_TRUE(std::ranges::none_of(memory_timeline(one).alive, held));
}

TEST(MemoryTimeline, OfAPlanWithoutSteps) {
  const MemoryTimeline t = memory_timeline(make_plan({}, cpu_binding(Mode::infer, 1)));
  EXPECT_EQ(t.peak_step, kNone);
  EXPECT_EQ(t.peak.total(), 0);
  EXPECT_TRUE(t.alive.empty() && t.layers.empty());
}

}  // namespace
}  // namespace headroom
