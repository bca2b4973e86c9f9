#include <gtest/gtest.h>

#include <random>
#include <set>

#include "headroom/net.h"
#include "plan/streams.h"
#include "plan/testing/small_net.h"
#include "train/build.h"

namespace headroom {
namespace {

Capabilities gpu() {
  return {.kind = DeviceKind::cuda,
          .name = "test GPU",
          .compute_capability = 90,
          .multiprocessors = 132,
          .memory_bytes = std::size_t{140} << 30};
}

Plan gpu_plan(const std::string& model, std::int64_t batch, int streams, bool head = true) {
  BuildRequest request{
      .mode = Mode::train, .batch = batch, .target = gpu(), .update = {.momentum = 0.9}, .streams = streams};
  if (!head) request.fusion = Fusion::portable;
  return build(find_net(model), request).plan;
}

const std::vector<std::pair<std::string, std::int64_t>>& small_networks() {
  static const std::vector<std::pair<std::string, std::int64_t>> list = {
      {"lenet5", 256},
      {"lenet5:pool=avg,activation=tanh", 7},
      {"mlp:hidden=64", 100},
      {"ece408", 4},
      {"autoencoder", 32}};
  return list;
}

// before[b]: true if step `a` has ended when b starts, at any speed of the streams.
std::vector<std::vector<bool>> happens_before(const Plan& plan) {
  const std::size_t n = plan.steps.size();
  std::vector<std::vector<bool>> before(n, std::vector<bool>(n, false));
  std::array<int, kMaxStreams> last;
  last.fill(kNone);
  for (std::size_t b = 0; b < n; ++b) {
    std::vector<int> sources = plan.steps[b].waits;
    const auto stream = static_cast<std::size_t>(plan.steps[b].stream);
    if (last[stream] != kNone) sources.push_back(last[stream]);
    for (int source : sources) {
      const auto a = static_cast<std::size_t>(source);
      EXPECT_LT(a, b) << "waits for what is queued later";
      before[b][a] = true;
      for (std::size_t k = 0; k < n; ++k) before[b][k] = before[b][k] || before[a][k];
    }
    last[stream] = static_cast<int>(b);
  }
  return before;
}

struct Range {
  std::size_t begin, end;
  bool written;
};

std::vector<Range> arena_of(const Step& step) {
  std::vector<Range> ranges;
  auto add = [&](const std::vector<Slot>& slots, const std::vector<TensorType>& types, bool written) {
    for (std::size_t i = 0; i < slots.size(); ++i)
      if (slots[i].where == Slot::Where::arena)
        ranges.push_back(
            {slots[i].offset, slots[i].offset + static_cast<std::size_t>(types[i].bytes()), written});
  };
  add(step.inputs, step.problem.inputs, false);
  add(step.outputs, step.problem.outputs, true);
  if (step.workspace > 0)
    ranges.push_back({step.workspace_offset, step.workspace_offset + step.workspace, true});
  return ranges;
}

// Names two steps that may run at the same time although one writes what the other touches.
std::string find_race(const Plan& plan) {
  const auto before = happens_before(plan);
  for (std::size_t b = 0; b < plan.steps.size(); ++b)
    for (std::size_t a = 0; a < b; ++a) {
      if (before[b][a]) continue;
      for (const Range& x : arena_of(plan.steps[a]))
        for (const Range& y : arena_of(plan.steps[b]))
          if ((x.written || y.written) && x.begin < y.end && y.begin < x.end)
            return plan.steps[a].problem.str() + " and " + plan.steps[b].problem.str();
      for (const Slot& x : plan.steps[a].inputs)  // weights change only after their last reader
        for (const Slot& y : plan.steps[b].outputs)
          if (x.where == Slot::Where::storage && y.where == Slot::Where::storage && x.value == y.value)
            return plan.steps[a].problem.str() + " reads what is updated";
    }
  return {};
}

// One of the orders in which the streams may run their steps.
Plan run_as(const Plan& plan, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<std::size_t> queue[kMaxStreams];
  for (std::size_t s = 0; s < plan.steps.size(); ++s)
    queue[static_cast<std::size_t>(plan.steps[s].stream)].push_back(s);
  std::vector<bool> over(plan.steps.size(), false);
  std::size_t next[kMaxStreams] = {};
  auto ready = [&](std::size_t q) {
    if (next[q] == queue[q].size()) return false;
    for (int wait : plan.steps[queue[q][next[q]]].waits)
      if (!over[static_cast<std::size_t>(wait)]) return false;
    return true;
  };
  Plan turned = plan;
  turned.steps.clear();
  while (turned.steps.size() < plan.steps.size()) {
    std::size_t q = random() % kMaxStreams;
    for (int tried = 1; tried < kMaxStreams && !ready(q); ++tried) q = (q + 1) % kMaxStreams;
    if (!ready(q)) {
      ADD_FAILURE() << "the streams wait for each other";
      return plan;
    }
    over[queue[q][next[q]]] = true;
    turned.steps.push_back(plan.steps[queue[q][next[q]++]]);
  }
  return turned;
}

std::size_t on_second(const Plan& plan) {
  std::size_t count = 0;
  for (const Step& step : plan.steps) count += step.stream == 1;
  return count;
}

TEST(PlanStreams, NothingIsTouchedByTwoAtOnce) {
  for (const auto& [model, batch] : small_networks())
    for (const auto& [head, streams] : {std::pair{false, 2}, {true, 2}, {false, 3}, {true, 3}}) {
      const Plan plan = gpu_plan(model, batch, streams, head);
      EXPECT_EQ(find_race(plan), "") << model;
      EXPECT_EQ(testing::find_overwrite(plan), "") << model << " on one stream";
      for (unsigned seed = 0; seed < 50; ++seed)
        ASSERT_EQ(testing::find_overwrite(run_as(plan, seed)), "") << model << ", order " << seed;
    }
}

TEST(PlanStreams, TheChecksCanSee) {
  Plan eager = gpu_plan("lenet5", 256, 2);
  for (Step& step : eager.steps) step.waits.clear();
  EXPECT_NE(find_race(eager), "") << "nobody waits";
  // Memory placed as if there were one stream.
  const Plan one = gpu_plan("lenet5", 256, 1);
  Plan tight = gpu_plan("lenet5", 256, 2);
  for (Step& step : tight.steps)
    for (const Step& as : one.steps)
      if (as.node == step.node)
        step.inputs = as.inputs, step.outputs = as.outputs, step.workspace_offset = as.workspace_offset;
  EXPECT_NE(find_race(tight), "");
}

TEST(PlanStreams, GradientsOfWeightsGoToTheSecond) {
  const Plan plan = gpu_plan("lenet5", 256, 2);
  for (const Step& step : plan.steps) {
    const std::string &op = step.problem.op, &layer = plan.graph.node(step.node).layer;
    // The last one stays: the first stream has nothing else left to do.
    const bool second = op == "bias_grad" || (op == "conv2d_grad_weight" && layer != "C1") ||
                        (op == "matmul" && step.problem.attrs.integer("trans_a") == 1) || op == "tally";
    EXPECT_EQ(step.stream, second ? 1 : 0) << layer << " " << step.problem.str();
  }
  EXPECT_GE(on_second(plan), 5u);
  EXPECT_EQ(plan.steps.at(static_cast<std::size_t>(join_of(plan))).problem.op, "sgd");
  EXPECT_EQ(on_second(gpu_plan("lenet5", 256, 1)), 0u);
}

TEST(PlanStreams, SumsGoToTheThird) {
  const Plan plan = gpu_plan("lenet5", 256, 3);
  std::set<std::string> on_third;
  for (const Step& step : plan.steps)
    if (step.stream == 2) on_third.insert(step.problem.op);
  EXPECT_EQ(on_third, std::set<std::string>{"bias_grad"});
  EXPECT_EQ(plan.steps.at(static_cast<std::size_t>(join_of(plan))).waits.size(), 2u) << "for both others";
  // A kernel that counts for the gradient of weights may not overlap with sums that count.
  for (const Step& step : gpu_plan("mlp:hidden=64", 100, 3, false).steps) EXPECT_LT(step.stream, 2);
}

TEST(PlanStreams, WhatOthersWaitForIsQueuedFirst) {
  for (const auto& [model, batch] : small_networks()) {
    const Plan plan = gpu_plan(model, batch, kMaxStreams);
    const std::vector<std::size_t> order = queue_order(plan);
    ASSERT_EQ(order.size(), plan.steps.size()) << model;
    std::vector<std::size_t> place(order.size(), order.size());
    for (std::size_t i = 0; i < order.size(); ++i) place.at(order[i]) = i;
    std::size_t last[kMaxStreams] = {};
    for (std::size_t s = 0; s < order.size(); ++s) {
      const Step& step = plan.steps[s];
      ASSERT_LT(place[s], order.size()) << model << ": step " << s << " is missing";
      for (const int before : step.waits)
        EXPECT_LT(place[static_cast<std::size_t>(before)], place[s]) << model;
      EXPECT_GE(place[s], last[step.stream]) << model << ": the order of a stream is that of the plan";
      last[step.stream] = place[s];
    }
  }
  // The gradient of C3's input before that of its weights, which is before it in the plan.
  const Plan plan = gpu_plan("lenet5", 256, 2);
  std::string queued;
  for (const std::size_t s : queue_order(plan))
    if (plan.graph.node(plan.steps[s].node).layer == "C3" && plan.steps[s].phase == Phase::backward)
      queued += plan.steps[s].problem.op + " ";
  EXPECT_TRUE(queued.starts_with("conv2d_grad_input ")) << queued;
}

// A perceptron with a fused head has one gradient left, and the tally beside it.
TEST(PlanStreams, TheTallyWaitsForNoGradient) {
  const Plan plan = gpu_plan("mlp:hidden=300", 100, 2);
  const auto tally = std::find_if(plan.steps.begin(), plan.steps.end(),
                                  [](const Step& step) { return step.problem.op == "tally"; });
  ASSERT_NE(tally, plan.steps.end());
  EXPECT_EQ(tally->stream, 1);
  ASSERT_EQ(tally->waits.size(), 1u);
  EXPECT_EQ(plan.steps.at(static_cast<std::size_t>(tally->waits[0])).problem.op, "classifier_head");
  EXPECT_EQ(on_second(plan), 1u) << "the last gradient stays on the path";
  EXPECT_EQ(join_of(plan), static_cast<int>(plan.steps.size())) << "weights and sums have nothing in common";
}

TEST(PlanStreams, KernelsThatCountNeverOverlap) {
  for (const auto& [model, batch] : small_networks())
    for (const auto& [head, streams] : {std::pair{false, 2}, {true, 2}, {false, 3}, {true, 3}}) {
      const Plan plan = gpu_plan(model, batch, streams, head);
      const auto before = happens_before(plan);
      for (std::size_t b = 0; b < plan.steps.size(); ++b)
        for (std::size_t a = 0; a < b; ++a) {
          const bool both = plan.steps[a].kernel->shares_counter && plan.steps[b].kernel->shares_counter;
          EXPECT_TRUE(!both || before[b][a])
              << model << ": " << plan.steps[a].problem.str() << " and " << plan.steps[b].problem.str();
        }
    }
}

TEST(PlanStreams, EveryBranchBeginsBehindTheFirst) {
  for (const auto& [model, batch] : small_networks()) {
    const Plan plan = gpu_plan(model, batch, 2);
    const auto first =
        std::find_if(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.stream == 1; });
    ASSERT_NE(first, plan.steps.end()) << model;
    EXPECT_FALSE(first->waits.empty()) << "or it would not be captured";
  }
}

TEST(PlanStreams, LargeNetworksKeepToOne) {
  EXPECT_EQ(on_second(gpu_plan("lenet5", 16384, 2)), 0u);
  const Plan one = gpu_plan("lenet5", 16384, 1), two = gpu_plan("lenet5", 16384, 2);
  EXPECT_EQ(one.arena_bytes, two.arena_bytes);
}

// The list order is the order without capture: phases one after another.
TEST(PlanStreams, PhasesStayInOrder) {
  for (const auto& [model, batch] : small_networks()) {
    const Plan plan = gpu_plan(model, batch, 2);
    EXPECT_TRUE(std::is_sorted(plan.steps.begin(), plan.steps.end(),
                               [](const Step& a, const Step& b) { return a.phase < b.phase; }));
    EXPECT_EQ(plan.steps.size(), gpu_plan(model, batch, 1).steps.size());
  }
}

}  // namespace
}  // namespace headroom
