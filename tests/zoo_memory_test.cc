// The memory timeline of every network of the zoo, against a count that looks only at the slots of the steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "models/testing/small_models.h"
#include "plan/memory_timeline.h"
#include "train/build.h"
#include "train/settings.h"

namespace headroom {
namespace {

// Bytes in each step: from the first to the last step whose slots name the owner of the memory.
std::vector<std::int64_t> alive_by_slots(const Plan& plan) {
  struct Use {
    std::int64_t bytes = 0;
    std::size_t first = 0, last = 0;
  };
  std::map<ValueId, Use> uses;
  std::vector<std::int64_t> alive(plan.steps.size(), 0);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    alive[s] += static_cast<std::int64_t>(step.workspace);
    for (const auto* slots : {&step.inputs, &step.outputs})
      for (const Slot& slot : *slots)
        if (slot.where == Slot::Where::arena) {
          Use& use = uses.try_emplace(slot.value, Use{plan.graph.value(slot.value).type.bytes(), s, s})
                         .first->second;
          use.last = s;
        }
  }
  for (ValueId output : plan.graph.outputs)
    for (const Step& step : plan.steps) {
      const std::vector<ValueId>& made = plan.graph.node(step.node).outputs;
      for (std::size_t i = 0; i < made.size(); ++i)
        if (made[i] == output && step.outputs[i].where == Slot::Where::arena)
          uses.at(step.outputs[i].value).last = plan.steps.size() - 1;
    }
  for (const auto& [value, use] : uses)
    for (std::size_t s = use.first; s <= use.last; ++s) alive[s] += use.bytes;
  return alive;
}

class ZooMemory : public ::testing::TestWithParam<std::string> {};

TEST_P(ZooMemory, AddsUp) {
  BuildRequest request{.mode = Mode::train, .batch = 4, .target = cpu_capabilities(2)};
  request.update = usual_update(train_defaults(GetParam()));
  const Plan plan = build(find_net(GetParam()), request).plan;
  const MemoryTimeline t = memory_timeline(plan);
  ASSERT_EQ(t.steps.size(), plan.steps.size());
  EXPECT_LE(t.peak.arena(), t.arena_bytes);
  EXPECT_EQ(t.arena_bytes, static_cast<std::int64_t>(plan.arena_bytes));

  const std::vector<std::int64_t> alive = alive_by_slots(plan);
  std::int64_t highest = 0;
  for (std::size_t s = 0; s < t.steps.size(); ++s) {
    EXPECT_EQ(t.steps[s].arena(), alive[s]) << "step " << s;
    highest = std::max(highest, t.steps[s].total());
  }
  EXPECT_EQ(t.peak.total(), highest);
  EXPECT_EQ(t.steps[static_cast<std::size_t>(t.peak_step)], t.peak);

  MemoryBytes layers, pieces;
  for (const MemoryTimeline::Layer& layer : t.layers)
    for (MemoryKind kind : kMemoryKinds) layers[kind] += layer.bytes[kind];
  EXPECT_EQ(layers, t.peak) << "layers add up to the peak, kind by kind";
  for (const MemoryTimeline::Piece& piece : t.alive) pieces[piece.kind] += piece.bytes;
  EXPECT_EQ(pieces.total(), t.peak.arena());
  std::int64_t parameters = 0;
  for (ValueId id : plan.graph.with_role(Role::parameter))
    if (plan.graph.value(id).producer == kNone) parameters += plan.graph.value(id).type.bytes();
  EXPECT_EQ(t.peak[MemoryKind::parameters], parameters);
}

INSTANTIATE_TEST_SUITE_P(AllNetworks, ZooMemory, ::testing::ValuesIn(testing::small_models()),
                         [](const auto& test) {
                           std::string name = test.param.substr(0, test.param.find(':'));
                           std::erase(name, '-');
                           return name;
                         });

// Momentum keeps one number for each parameter; batch normalisation has statistics of its own.
TEST(MemoryTimeline, TellsOptimizerStateFromStatistics) {
  BuildRequest request{.mode = Mode::train, .batch = 4, .target = cpu_capabilities(2)};
  const Net net = find_net(testing::small_model("resnet"));
  request.update = {.momentum = 0.9};
  const MemoryTimeline with = memory_timeline(build(net, request).plan);
  request.update = {.momentum = 0};
  const MemoryTimeline without = memory_timeline(build(net, request).plan);
  EXPECT_EQ(with.peak[MemoryKind::optimizer_state], with.peak[MemoryKind::parameters]);
  EXPECT_EQ(without.peak[MemoryKind::optimizer_state], 0);
  EXPECT_EQ(with.peak[MemoryKind::other_state], without.peak[MemoryKind::other_state]);
  EXPECT_GT(with.peak[MemoryKind::other_state], 1000);
}

}  // namespace
}  // namespace headroom
