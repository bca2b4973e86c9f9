#include "bench/switches.h"

#include <gtest/gtest.h>

#include "ops/operator.h"

namespace headroom {
namespace {

const SwitchSetting& setting(const std::vector<SwitchSetting>& list, const std::string& name) {
  for (const SwitchSetting& s : list)
    if (s.name() == name) return s;
  ADD_FAILURE() << "no setting " << name;
  return list.front();
}

Capabilities some_gpu() { return {.kind = DeviceKind::cuda, .name = "GPU"}; }

TEST(Switches, EachIsMeasuredAloneAndMissedOnceOfAll) {
  const SwitchesHere here = switches_here(some_gpu(), 2);
  EXPECT_EQ(here.runnable.size() + here.why_not.size(), all_switches().size());
  EXPECT_EQ(here.why_not.size(), 1u);  // threads
  const auto list = settings_of(here.runnable);
  ASSERT_EQ(list.size(), 2 + 2 * here.runnable.size());
  for (const Switch which : here.runnable) {
    int alone = 0, missed = 0;
    for (const SwitchSetting& s : list) {
      if (s.which != which) continue;
      if (s.kind == SwitchSetting::Kind::only) alone += s.on.contains(which) && !s.base.contains(which);
      if (s.kind == SwitchSetting::Kind::all_but) missed += !s.on.contains(which) && s.base.contains(which);
    }
    EXPECT_EQ(alone, 1) << info_of(which).key;
    EXPECT_EQ(missed, 1) << info_of(which).key;
  }
}

// Two branches need the launch they are in, and copies are missed only if there are some.
TEST(Switches, TheOthersThatASwitchNeedsAreWithIt) {
  const auto list = settings_of(switches_here(some_gpu(), 1).runnable);
  EXPECT_EQ(setting(list, "only streams, with graph").on, (SwitchSet{Switch::graph, Switch::streams}));
  EXPECT_FALSE(setting(list, "all but pinned and resident").base.contains(Switch::resident));
  EXPECT_TRUE(setting(list, "all but graph").on.contains(Switch::resident));
}

TEST(Switches, ACpuSaysWhyItLacksTheOthers) {
  const SwitchesHere two = switches_here(cpu_capabilities(2), 1), one = switches_here(cpu_capabilities(1), 2);
  EXPECT_EQ(two.runnable, (SwitchSet{Switch::kernels, Switch::threads, Switch::loader}));
  EXPECT_EQ(one.runnable, (SwitchSet{Switch::kernels, Switch::loader, Switch::exchange}));
  EXPECT_NE(two.why_not.at(Switch::exchange).find("mpirun -n 2"), std::string::npos);
  for (const auto& [which, reason] : two.why_not) EXPECT_NE(reason, "") << info_of(which).key;
}

TEST(Switches, ThePlainestKernelIsTheLastOfTheList) {
  Problem p{.op = "relu", .inputs = {{{8}, DType::f32}}, .outputs = {{{8}, DType::f32}}, .attrs = {}};
  const Target cpu = cpu_capabilities(1);
  EXPECT_EQ(last_that_accepts(p, cpu).kernel->name, "reference");
  EXPECT_NE(first_that_accepts(p, cpu).kernel->name, "reference");
}

TEST(Switches, HiddenShareIsThatOfTheStreamedRows) {
  const auto row = [](SwitchSetting::Kind kind, Switch which, double epoch, double base) {
    SwitchTiming t;
    t.setting.kind = kind, t.setting.which = which, t.epoch_s = epoch, t.base_s = base;
    return t;
  };
  using enum SwitchSetting::Kind;
  const SwitchTiming whole = row(all, Switch::kernels, 2, 0), waited = row(all_but, Switch::overlap, 6, 3);
  EXPECT_NEAR(hidden_share({whole, waited}), 0.75, 1e-12);  // 6 - 3 of 6 - 2
  EXPECT_LT(hidden_share({whole}), 0);
  const SwitchTiming faster = row(all_but, Switch::overlap, 6, 1.5),
                     slower = row(all_but, Switch::overlap, 6, 6.5);
  EXPECT_EQ(hidden_share({whole, faster}), 1);  // than resident images
  EXPECT_EQ(hidden_share({whole, slower}), 0);  // than waiting
}

}  // namespace
}  // namespace headroom
