#include "plan/tuner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/testing/bad_input.h"
#include "ops/operator.h"

namespace headroom {
namespace {

using testing::TemporaryFolder;

void spin(double seconds) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < until) {
  }
}

// A kernel with four candidates: one that the library lacks, one that fails when it runs, a slow one and a
// fast one.
struct Choosable {
  Kernel kernel;
  std::vector<std::string> prepared;

  Choosable() {
    kernel.name = "cpu:choosable";
    kernel.candidates = [](const Problem&, const Target&) {
      return std::vector<std::string>{"absent", "failing", "slow", "fast"};
    };
    kernel.prepare = [this](const Problem&, const LaunchContext& context) -> Launcher {
      prepared.push_back(context.variant);
      if (context.variant == "absent") fail("there is no such algorithm");
      return [variant = context.variant](const LaunchArgs& args) {
        if (variant == "failing") fail("not for these sizes");
        spin(variant == "slow" ? 2e-3 : 2e-4);
        args.out<float>(0)[0] = args.in<float>(0)[0];
      };
    };
  }

  Plan plan(int steps = 2) const {
    Plan plan;
    plan.binding.target = cpu_capabilities(1);
    for (int i = 0; i < steps; ++i) {
      Step step;
      step.kernel = &kernel;
      step.problem = {.op = "relu", .inputs = {{{4, 4}, DType::f32}}, .outputs = {{{4, 4}, DType::f32}}};
      plan.steps.push_back(step);
    }
    return plan;
  }
};

TEST(TimingTuner, TakesTheFastestThatRunsAndRemembersIt) {
  const auto device = open_device("cpu", 1);
  Choosable choosable;
  TuningTable table;
  Plan plan = choosable.plan();
  EXPECT_EQ(Tuner(*device, table).tune(plan), 1u) << "two steps, one problem";
  for (const Step& step : plan.steps) {
    EXPECT_EQ(step.variant, "fast");
    EXPECT_NEAR(step.variant_s, 2e-4, 1e-4);
    EXPECT_NE(step.why.find("fastest of 2"), std::string::npos) << step.why;
    EXPECT_EQ(step.full_name(), "cpu:choosable:fast");
  }
  choosable.prepared.clear();
  Plan again = choosable.plan();
  EXPECT_EQ(Tuner(*device, table).tune(again), 0u);
  EXPECT_EQ(again.steps[0].variant, "fast");
  EXPECT_TRUE(choosable.prepared.empty()) << "the table knows it: nothing is timed";
}

TEST(Tuner, WithADeterministicPolicyNothingIsTimed) {
  const auto device = open_device("cpu", 1);
  const Choosable choosable;
  TuningTable table;
  Plan plan = choosable.plan(1);
  plan.binding.target.policy.deterministic = true;
  EXPECT_EQ(Tuner(*device, table).tune(plan), 0u);
  EXPECT_EQ(plan.steps[0].variant, "failing") << "the first that can be prepared";
  EXPECT_EQ(plan.steps[0].variant_s, 0);
  EXPECT_TRUE(table.entries().empty());
}

TEST(Tuner, AForcedVariantAndAKernelWithoutCandidatesStay) {
  const auto device = open_device("cpu", 1);
  const Choosable choosable;
  TuningTable table;
  Plan plan = choosable.plan(1);
  plan.steps[0].variant = "slow";
  Step plain;
  plain.kernel = &operator_of("relu").kernels.back();
  plan.steps.push_back(plain);
  EXPECT_EQ(Tuner(*device, table).tune(plan), 0u);
  EXPECT_EQ(plan.steps[0].variant, "slow");
  EXPECT_EQ(plan.steps[1].variant, "");
}

TuningKey key(const std::string& problem, const std::string& libraries = "cuDNN 9") {
  return {problem, "cudnn", "a GPU", libraries};
}
Tuned tuned(const std::string& variant, double seconds) {
  return {"cudnn", variant, seconds, {{variant, seconds}, {"other", 2 * seconds}}};
}

TEST(TuningTable, IsReadAgain) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "sub/tuning.jsonl";
  {
    TuningTable table(file);
    EXPECT_TRUE(table.entries().empty());
    table.add(key("conv2d a"), tuned("heuristic_3", 1.5e-5));
    table.add(key("conv2d b"), tuned("algorithm_1", 2e-5));
    table.add(key("conv2d b"), tuned("heuristic_0", 1e-5));
    EXPECT_TRUE(table.take_warnings().empty());
  }
  TuningTable again(file);
  EXPECT_EQ(again.entries().size(), 2u);
  ASSERT_TRUE(again.find(key("conv2d a")));
  EXPECT_EQ(again.find(key("conv2d a"))->variant, "heuristic_3");
  EXPECT_NEAR(again.find(key("conv2d a"))->seconds, 1.5e-5, 1e-12);
  EXPECT_EQ(again.find(key("conv2d a"))->candidates.size(), 2u);
  EXPECT_EQ(again.find(key("conv2d b"))->variant, "heuristic_0") << "later lines win";
  EXPECT_FALSE(again.find(key("conv2d a", "cuDNN 10"))) << "another version is timed anew";
  EXPECT_EQ(again.find(key("conv2d a", ""))->variant, "heuristic_3")
      << "a device that is not open: any version";
  std::filesystem::remove(file);
  EXPECT_TRUE(TuningTable(file).entries().empty()) << "deleting it is safe";
}

TEST(TuningTable, WhatCannotBeReadIsIgnoredWithAWarning) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "tuning.jsonl";
  TuningTable(file).add(key("conv2d a"), tuned("fast", 1e-5));
  {
    std::ofstream out(file, std::ios::app | std::ios::binary);
    out << "not json\n{\"problem\": 3}\n[]\n\xff\xfe\n{\"problem\": \"half a li";
  }
  TuningTable damaged(file);
  EXPECT_EQ(damaged.entries().size(), 1u);
  const auto warnings = damaged.take_warnings();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("5 lines"), std::string::npos) << warnings[0];
  EXPECT_TRUE(damaged.take_warnings().empty()) << "said once";
  damaged.add(key("conv2d b"), tuned("fast", 1e-5));
  EXPECT_EQ(TuningTable(file).entries().size(), 2u) << "a half-written line swallows no new one";
}

TEST(TuningTable, ManyWritersLoseNothing) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "tuning.jsonl";
  constexpr int kWriters = 8, kEach = 50;
  std::vector<std::thread> writers;
  for (int w = 0; w < kWriters; ++w)
    writers.emplace_back([&, w] {
      TuningTable table(file);  // acts as another process: its own table
      for (int i = 0; i < kEach; ++i)
        table.add(key(fmt::format("conv2d {} {}", w, i)), tuned("fast", 1e-6 * (i + 1)));
    });
  for (std::thread& writer : writers) writer.join();
  TuningTable all(file);
  EXPECT_EQ(all.entries().size(), std::size_t{kWriters * kEach});
  EXPECT_TRUE(all.take_warnings().empty());
}

TEST(TuningTable, AFolderThatCannotBeWrittenIsAWarning) {
  const TemporaryFolder folder;
  write_file(folder.path() / "file", "x");
  TuningTable table(folder.path() / "file/tuning.jsonl");
  table.add(key("conv2d a"), tuned("fast", 1e-5));
  table.add(key("conv2d b"), tuned("fast", 1e-5));
  EXPECT_EQ(table.entries().size(), 2u) << "winners still serve this process";
  EXPECT_EQ(table.take_warnings().size(), 1u);
}

TEST(TuningTable, GivesVariantsToAPlan) {
  const Choosable choosable;
  TuningTable table;
  const Target target = cpu_capabilities(1);
  const Problem problem = choosable.plan(1).steps[0].problem;
  const Chooser choose = with_tuned_variants(table, [&](const Problem&, const Target&) {
    return Choice{&choosable.kernel, "the only one", {}};
  });
  EXPECT_EQ(choose(problem, target).variant, "") << "nobody has timed it";
  table.add(tuning_key(problem, choosable.kernel, target), tuned("slow", 3e-6));
  const Choice choice = choose(problem, target);
  EXPECT_EQ(choice.variant, "slow");
  EXPECT_EQ(choice.variant_s, 3e-6);
  Target rounding = target;
  rounding.policy.tf32 = true;
  EXPECT_EQ(choose(problem, rounding).variant, "") << "another arithmetic is another problem";
}

}  // namespace
}  // namespace headroom
