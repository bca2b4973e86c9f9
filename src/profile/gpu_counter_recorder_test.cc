#include "profile/gpu_counter_recorder.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/device.h"
#include "profile/testing/fake_ranges.h"

namespace headroom {
namespace {

using testing::FakeRanges;

// Two passes, the second of which takes two runs.
CounterPasses two_passes() {
  return {.chip = "chip",
          .passes = {{{"cycles", "issued"}, {"a", "b"}, 1}, {{"branches"}, {"c"}, 2}},
          .missing = {"bulk-read"}};
}

class GpuCounterRecorderTest : public ::testing::Test {
 protected:
  GpuCounterRecorderTest() : device_(open_device("cpu")) {
    for (const char* op : {"relu", "all_reduce", "add"}) {
      Step step;
      step.problem.op = op;
      step.work.launches = {{.flops = 6, .bytes = 8, .count = 2}};
      plan_.steps.push_back(step);
    }
  }
  GpuCounterRecorder recorder(std::size_t fails_in_pass = 99) {
    return {plan_, std::make_unique<FakeRanges>(two_passes(), log_, fails_in_pass)};
  }
  // Phases may take the steps in another order than the plan.
  void run(GpuCounterRecorder& recorder) {
    for (const std::size_t step : {0u, 2u, 1u})
      recorder.begin(step, device_->stream()), recorder.end(step, device_->stream());
  }
  Measurement counted(const GpuCounterRecorder& recorder) {
    Measurement m;
    m.steps.resize(plan_.steps.size());
    recorder.add_to(m);
    return m;
  }

  std::unique_ptr<Device> device_;
  Plan plan_;
  std::string log_;
};

TEST_F(GpuCounterRecorderTest, EveryRunIsAPassAndEveryStepARange) {
  GpuCounterRecorder r = recorder();
  ASSERT_EQ(r.runs(), 3);
  run(r);  // warm-up
  r.open();
  run(r), run(r);
  r.close();  // an evaluation comes between
  r.open();
  run(r);
  r.close();
  r.release();
  EXPECT_EQ(log_, "[0:3(0.2.)][1:3(0.2.)(0.2.)]") << "exchanges stay outside";
  const Measurement m = counted(r);
  EXPECT_EQ(m.steps[2].counters.at("1:cycles"), 102);
  EXPECT_EQ(m.steps[2].counters.at("1:issued"), 112);
  EXPECT_EQ(m.steps[0].counters.at("2:branches"), 200);
  EXPECT_FALSE(m.steps[1].counters.contains("1:cycles"));
  EXPECT_EQ(m.steps[1].counters.at("0:launches"), 2);
  ASSERT_EQ(r.notes().size(), 2u);
  EXPECT_EQ(r.notes()[0], "no bulk-read: chip does not count it");
  EXPECT_EQ(r.notes()[1],
            "counted in 3 successive steps: pass 1: cycles, issued; pass 2 (2 steps): branches");
}

TEST_F(GpuCounterRecorderTest, AnErrorEndsTheCountingNotTheRun) {
  GpuCounterRecorder r = recorder(1);
  r.open();
  run(r), run(r), run(r);
  r.close();
  r.release();
  const Measurement m = counted(r);
  EXPECT_EQ(m.steps[0].counters.at("1:cycles"), 100);
  EXPECT_FALSE(m.steps[0].counters.contains("2:branches"));
  EXPECT_EQ(r.notes().back(), "counting ended after 1 of 2 passes: the GPU is busy");
  EXPECT_FALSE(r.refused());
  GpuCounterRecorder first_fails = recorder(0);
  first_fails.open();
  run(first_fails);
  EXPECT_TRUE(first_fails.refused());
}

TEST_F(GpuCounterRecorderTest, AShortRunSaysWhatIsMissing) {
  GpuCounterRecorder r = recorder();
  r.open();
  run(r), run(r);
  r.close();
  r.release();
  EXPECT_EQ(r.notes().back(), "only 1 of 2 passes were counted: the run was too short");
  EXPECT_EQ(counted(r).steps[0].counters.count("2:branches"), 0u) << "half a pass is none";
}

TEST_F(GpuCounterRecorderTest, WithoutTheRightToCountThePlanSpeaks) {
  GpuCounterRecorder r(plan_, nullptr, "this user may not profile the GPU");
  EXPECT_EQ(r.runs(), 1);
  r.open();
  run(r);
  r.close();
  r.release();
  EXPECT_TRUE(r.refused());
  const std::map<std::string, double> expected = {{"0:bytes", 8}, {"0:flops", 6}, {"0:launches", 2}};
  EXPECT_EQ(counted(r).steps[0].counters, expected);
  EXPECT_EQ(r.notes(), std::vector<std::string>{"no counters: this user may not profile the GPU; amounts are "
                                                "the plan's own"});
}

TEST_F(GpuCounterRecorderTest, ALongPlanTakesSeveralRunsForAPass) {
  plan_.steps.resize(GpuCounterRecorder::kMaxRanges + 1, plan_.steps[0]);
  for (Step& step : plan_.steps) step.problem.op = "relu";
  GpuCounterRecorder r = recorder();
  EXPECT_EQ(r.runs(), 6);
  r.open();
  for (int i = 0; i < 2; ++i)
    for (std::size_t s = 0; s < plan_.steps.size(); ++s)
      r.begin(s, device_->stream()), r.end(s, device_->stream());
  r.close();
  EXPECT_NE(log_.find("][0:1(1500.)]"), std::string::npos) << log_.substr(log_.size() - 30);
  EXPECT_EQ(counted(r).steps[1500].counters.at("1:cycles"), 1600);
}

}  // namespace
}  // namespace headroom
