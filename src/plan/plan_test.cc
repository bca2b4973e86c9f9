#include "plan/plan.h"

#include <gtest/gtest.h>

#include <map>

#include "base/testing/bad_input.h"
#include "plan/testing/small_net.h"

namespace headroom {
namespace {

using testing::cpu_binding;
using testing::expect_rejected;
using testing::small_net;
using testing::SmallNet;

Plan train_plan(std::int64_t batch = 4) {
  return make_plan(small_net(batch).graph, cpu_binding(Mode::train, batch));
}

const Step& step_of(const Plan& plan, std::string_view op) {
  for (const Step& step : plan.steps)
    if (step.problem.op == op) return step;
  throw std::out_of_range(std::string(op));
}

TEST(Plan, StepsRunForwardThenBackwardThenUpdate) {
  SmallNet net = small_net(4);
  std::vector<Node> nodes = net.graph.nodes();
  std::reverse(nodes.begin() + 1, nodes.end());  // the passes may leave them in any order
  Graph turned = net.graph;
  turned.replace_nodes(nodes);
  for (const Graph& graph : {net.graph, turned}) {
    const Plan plan = make_plan(graph, cpu_binding(Mode::train, 4));
    EXPECT_TRUE(std::is_sorted(plan.steps.begin(), plan.steps.end(),
                               [](const Step& a, const Step& b) { return a.phase < b.phase; }));
    EXPECT_EQ(plan.steps.front().phase, Phase::forward);
    EXPECT_EQ(plan.steps.back().problem.op, "sgd");
  }
}

TEST(Plan, ViewsArePlannedAway) {
  const SmallNet net = small_net(4);
  const Plan plan = make_plan(net.graph, cpu_binding(Mode::train, 4));
  for (const Step& step : plan.steps) EXPECT_NE(step.problem.op, "reshape");
  EXPECT_EQ(plan.steps.size(), plan.graph.nodes().size() - 1);
  const Slot& x = plan.steps[0].inputs[0];
  EXPECT_EQ(x.where, Slot::Where::bound) << "the first product reads the images themselves";
  EXPECT_EQ(x.value, net.images);
  EXPECT_EQ(plan.steps[0].problem.inputs[0].shape, (Shape{4, 6})) << "under the shape of the view";
}

TEST(Plan, UpdatesHappenInPlace) {
  const Plan plan = train_plan();
  const Step& sgd = step_of(plan, "sgd");
  ASSERT_EQ(sgd.outputs.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(sgd.outputs[i].where, Slot::Where::storage);
    EXPECT_EQ(sgd.outputs[i].value, sgd.inputs[1 + 2 * i].value);
    EXPECT_EQ(plan.graph.value(sgd.outputs[i].value).role, Role::parameter);
  }
}

TEST(Plan, AValueHasTheSameSlotInEveryStep) {
  const Plan plan = train_plan();
  std::map<ValueId, Slot> known;
  auto check = [&](ValueId id, const Slot& slot) {
    const auto [it, fresh] = known.emplace(id, slot);
    EXPECT_EQ(static_cast<int>(it->second.where), static_cast<int>(slot.where)) << plan.graph.value(id).name;
    EXPECT_EQ(it->second.offset, slot.offset) << plan.graph.value(id).name;
    EXPECT_EQ(it->second.value, slot.value) << plan.graph.value(id).name;
  };
  for (const Step& step : plan.steps) {
    const Node& node = plan.graph.node(step.node);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) check(node.inputs[i], step.inputs[i]);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) check(node.outputs[i], step.outputs[i]);
  }
}

TEST(Plan, NothingIsOverwrittenBeforeItsLastReader) {
  for (std::int64_t batch : {1, 4, 64, 1000}) {
    const Plan plan = train_plan(batch);
    EXPECT_EQ(testing::find_overwrite(plan), "");
    EXPECT_LT(plan.arena_bytes, plan.unshared_bytes + 256 * plan.steps.size() * 2);
  }
  Plan broken = train_plan(64);
  for (Step& step : broken.steps)
    for (auto* slots : {&step.inputs, &step.outputs})
      for (Slot& slot : *slots) slot.offset = 0;
  EXPECT_NE(testing::find_overwrite(broken), "") << "the check itself can see";
}

TEST(Plan, ChargesDefaultToTheNodesLayer) {
  const Plan plan = train_plan();
  for (const Step& step : plan.steps) {
    double sum = 0;
    for (const Charge& c : step.charges) sum += c.share;
    EXPECT_NEAR(sum, 1, 1e-12) << step.problem.str();
  }
  EXPECT_EQ(plan.steps[0].charges.at(0).layer, "fc1");
  EXPECT_EQ(step_of(plan, "sgd").charges.size(), 2u);
}

TEST(Plan, AForcedKernelIsUsedAndOthersAreNot) {
  const Plan plan =
      make_plan(small_net(4).graph, cpu_binding(Mode::train, 4), forced({{"linear", "reference"}}));
  for (const Step& step : plan.steps) {
    EXPECT_EQ(step.kernel->name == "reference" && step.why == "forced", step.problem.op == "linear")
        << step.problem.str() << " by " << step.kernel->name;
  }
}

TEST(Plan, AKindOfKernelIsForcedByItsName) {
  const auto kernel = [](const char* kind) {
    const Plan plan =
        make_plan(small_net(64).graph, cpu_binding(Mode::train, 64), forced({{"linear", kind}}));
    return *step_of(plan, "linear").kernel;
  };
  EXPECT_EQ(kernel("library").name, "cpu:blas");
  EXPECT_TRUE(kernel("library").vendor);
  EXPECT_FALSE(kernel("own").vendor) << kernel("own").name;
  expect_rejected([] { forced({{"liner", "own"}}); }, {"liner"});
  expect_rejected(
      [] {
        make_plan(small_net(4).graph, cpu_binding(Mode::train, 4), forced({{"sgd", "library"}}));
      },
      {"no kernel that calls a library runs sgd"});
}

// Our own kernels are faster where channels are few; who compares them with the library's gets both.
TEST(Plan, ALibraryThatDoesNotPayIsThereByItsKind) {
  const Problem problem{.op = "conv2d",
                        .inputs = {{{100, 1, 48, 48}, DType::f32}, {{6, 1, 5, 5}, DType::f32}},
                        .outputs = {{{100, 6, 44, 44}, DType::f32}}};
  Target target;
  target.device.kind = DeviceKind::cuda;
  target.device.compute_capability = 90;
  EXPECT_FALSE(first_that_accepts(problem, target).kernel->vendor);
  EXPECT_EQ(forced({{"conv2d", "library"}})(problem, target).kernel->name, "cudnn");
}

TEST(Plan, ForcingWhatIsNotThereIsRejectedWithTheNearest) {
  expect_rejected([] { forced({{"linear", "cpu:blass"}}); }, {"linear", "cpu:blass"});
  expect_rejected([] { forced({{"liner", "cpu:blas"}}); }, {"liner"});
  try {
    forced({{"linear", "cpu:blass"}});
  } catch (const Error& error) {
    EXPECT_EQ(error.hint(), "did you mean 'cpu:blas'?");
  }
}

Graph one_convolution() {
  Graph g;
  const ValueId x = g.add_value({.name = "x", .type = {{8, 1, 6, 6}, DType::f32}, .role = Role::input});
  const ValueId w = g.add_value({.name = "w", .type = {{2, 1, 3, 3}, DType::f32}, .role = Role::parameter});
  g.outputs = g.add_node("conv2d", {x, w}, {}, "C1");
  return g;
}

TEST(Plan, AForcedKernelThatRefusesSaysWhyAndWhere) {
  expect_rejected(
      [] {
        make_plan(one_convolution(), cpu_binding(Mode::eval, 8), forced({{"conv2d", "cpu:as_linear"}}));
      },
      {"layer 'C1'", "cpu:as_linear", "does not cover"});
}

TEST(Plan, ExplainListsWhoRefusedAndWhy) {
  const Plan plan = make_plan(one_convolution(), cpu_binding(Mode::eval, 8));
  ASSERT_FALSE(plan.steps[0].refused.empty());
  const std::string text = plan.explain();
  EXPECT_NE(text.find("C1"), std::string::npos);
  EXPECT_NE(text.find("refused: cpu:as_linear: the window does not cover the whole input"), std::string::npos)
      << text;
  EXPECT_NE(text.find("first that accepts"), std::string::npos) << text;
  EXPECT_NE(plan.text().find("conv2d 8x1x6x6,2x1x3x3 fp32"), std::string::npos) << plan.text();
}

TEST(Plan, WhereNoKernelAcceptsEveryReasonIsGiven) {
  Graph g;
  const ValueId x = g.add_value({.name = "x", .type = {{8}, DType::f16}, .role = Role::input});
  g.outputs = g.add_node("relu", {x}, {}, "act");
  expect_rejected([&] { make_plan(g, cpu_binding(Mode::eval, 8, DType::f16)); },
                  {"layer 'act'", "no kernel runs relu 8 fp16", "cpu:vector", "reference"});
}

Graph without_kernel() {
  Graph g;
  const ValueId x = g.add_value({.name = "x", .type = {{2, 3, 9, 9}, DType::f32}, .role = Role::input});
  const Attrs same{{"shapes", std::vector<std::int64_t>{4, 2, 3, 9, 9}}, {"dtypes", std::string("fp32")}};
  const ValueId y = g.add_node("gap", {x}, same, "unknown")[0];
  g.outputs = {g.add_node("tanh", {y}, {}, "squeeze")[0]};
  return g;
}

TEST(Plan, AnOperatorWithoutKernelsIsRefusedByName) {
  expect_rejected([] { make_plan(without_kernel(), cpu_binding(Mode::eval, 2)); },
                  {"'unknown'", "operator 'gap' has no kernel yet"});
}

TEST(Plan, OrIsPlannedToBeReadOnly) {
  const Plan plan =
      make_plan(without_kernel(), cpu_binding(Mode::eval, 2), even_without_kernel(first_that_accepts));
  ASSERT_EQ(plan.steps.size(), 2u);
  EXPECT_EQ(plan.steps[0].kernel, nullptr);
  EXPECT_EQ(plan.steps[0].work.flops(), plan.steps[0].cost.flops());
  EXPECT_NE(plan.steps[1].kernel, nullptr);
  EXPECT_NE(plan.text().find("none"), std::string::npos);
  EXPECT_NE(plan.explain().find("no kernel yet"), std::string::npos);
}

// Running statistics change in the forward pass: steps that need the old values must come first.
TEST(Plan, ReadersOfAnOldValueComeBeforeItsUpdate) {
  for (bool before : {true, false}) {
    Graph g;
    auto add = [&](const char* name, Shape shape, Role role) {
      return g.add_value({.name = name, .type = {shape, DType::f32}, .role = role});
    };
    const ValueId x = add("x", {8, 3}, Role::input), scale = add("scale", {3}, Role::parameter);
    const ValueId mean = add("mean", {3}, Role::state), var = add("var", {3}, Role::state);
    const std::vector<ValueId> inputs = {x, scale, scale, mean, var};
    if (before) g.add_node("batch_norm_inference", inputs, {}, "reader");
    const auto out = g.add_node("batch_norm", inputs, {}, "writer");
    g.add_node("batch_norm_inference", {x, scale, scale, out[1], out[2]}, {}, "reader of the new");
    if (before) {
      const Plan plan = make_plan(g, cpu_binding(Mode::train, 8));
      EXPECT_EQ(plan.steps[1].outputs[1].value, mean) << "in place";
      EXPECT_EQ(plan.steps[2].inputs[3].value, mean);
      continue;
    }
    g.add_node("batch_norm_inference", inputs, {}, "reader");
    EXPECT_THROW(make_plan(g, cpu_binding(Mode::train, 8)), Error);
  }
}

}  // namespace
}  // namespace headroom
