#include "bench/ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/testing/bad_input.h"
#include "bench/gemm_check.h"
#include "bench/gemm_ladder.h"
#include "ops/operator.h"

namespace headroom {
namespace {

Machine ladder_machine() {
  Machine m;
  m.name = "slow", m.kind = "cpu";
  m.peak_flops = {{"fp32", 1e9}, {"fp64", 1e9}};
  m.levels = {{"memory", 1e12, 1e9, 1e9}};
  return m;
}

const auto kGemmCheck = [](const Problem& problem, const std::vector<HostTensor>& inputs,
                           const Policy& policy) { return gemm_check(problem, inputs, policy); };

// The kernel of that name, with something done to its output afterwards.
std::vector<Kernel> spoilt(std::string_view name, const std::function<void(float* out)>& spoil) {
  std::vector<Kernel> list;
  for (const Kernel& kernel : operator_of("gemm").kernels) {
    if (kernel.name != name) continue;
    Kernel broken = kernel;
    broken.prepare = [kernel, spoil](const Problem& p, const LaunchContext& context) -> Launcher {
      return [launch = kernel.prepare(p, context), spoil](const LaunchArgs& args) {
        launch(args);
        spoil(args.out<float>(0));
      };
    };
    list.push_back(broken);
  }
  return list;
}

RungResult only_rung(const GemmSize& size, const std::function<void(float* out)>& spoil) {
  const auto device = open_device("cpu", 2);
  const std::vector<Kernel> kernels = spoilt("cpu:blas", spoil);
  const Ladder ladder{
      .op = "gemm", .rungs = {{.name = "broken", .title = "", .kernel = "cpu:blas"}}, .kernels = &kernels};
  return climb(*device, ladder_machine(), ladder, gemm_ladder_problem(size, DType::f32), kGemmCheck,
               {.seconds = 0.01})
      .rungs.at(0);
}

TEST(Ladder, ClimbsAndTimesEveryRungOfTheCpu) {
  const auto device = open_device("cpu", 2);
  const LadderRun run =
      climb_gemm(*device, ladder_machine(), {67, 45, 131, 2, 5}, DType::f32, {.seconds = 0.02});
  ASSERT_EQ(run.rungs.size(), gemm_ladder().rungs.size());
  EXPECT_GT(run.floor_s, 0);
  EXPECT_FALSE(run.any_wrong());
  for (const RungResult& r : run.rungs) {
    const bool of_cpu = r.rung.kernel.starts_with("cpu:"), rounds = r.rung.kernel == "cpu:bf16",
               parts = r.rung.kernel == "cpu:bf16x6" && !device->capabilities().bf16_tiles;
    EXPECT_EQ(r.timed(), of_cpu && !rounds && !parts) << r.rung.name << ": " << r.reason;
    if (!r.timed()) {
      const char* const why = rounds ? "bf16" : parts ? "needs AMX-BF16" : "needs a GPU";
      EXPECT_NE(r.reason.find(why), std::string::npos) << r.reason;
      continue;
    }
    EXPECT_GT(r.seconds.median, 0);
    EXPECT_GE(r.seconds.samples, 1);
    EXPECT_LT(r.error.frobenius, 1e-6) << r.rung.name;
    EXPECT_GT(r.error.frobenius, 0) << "fp32 does not hit fp64 by chance";
    EXPECT_GT(r.over_first, 0);
  }
  EXPECT_EQ(run.rungs[0].over_first, 1);
  EXPECT_EQ(run.rungs[0].over_before, 0);
  EXPECT_DOUBLE_EQ(run.rungs[1].over_before, run.rungs[1].over_first);
}

// The library that computes the right results of other types is a rung itself: in fp64 it must not be its own
// judge.
TEST(Ladder, Fp64IsComparedWithMorePrecision) {
  const auto device = open_device("cpu", 2);
  const LadderRun run = climb_gemm(*device, ladder_machine(), {67, 45, 1310, 2, 5}, DType::f64,
                                   {.only = {"cpu:blas", "cpu:loops"}, .seconds = 0.01});
  for (const RungResult& r : run.rungs) {
    EXPECT_GT(r.error.frobenius, 1e-17) << r.rung.name;
    EXPECT_LT(r.error.frobenius, 1e-14) << r.rung.name;
  }
}

TEST(Ladder, FindsOneWrongElementAnywhere) {
  for (const std::int64_t at : {0, 17, 45 * 40 + 3, 67 * 45 - 1}) {
    const RungResult r = only_rung({67, 45, 131}, [at](float* out) { out[at] += 0.01f; });
    EXPECT_EQ(r.outcome, RungResult::Outcome::wrong) << at;
    EXPECT_NE(r.reason.find("fp64 gives"), std::string::npos) << r.reason;
    EXPECT_EQ(r.seconds.samples, 0) << "timed all the same";
  }
}

// Too large to compute as a whole: rows between the sampled ones are seen by their sums.
TEST(Ladder, FindsOneWrongElementBetweenSampledRows) {
  const GemmSize size{700, 1400, 1500};
  for (const std::int64_t at : {1400 * 1 + 5, 1400 * 351 + 700, 1400 * 698 + 1399})
    EXPECT_EQ(only_rung(size, [at](float* out) { out[at] += 2; }).outcome, RungResult::Outcome::wrong) << at;
  EXPECT_EQ(only_rung(size, [](float* out) { out[1400 * 333 + 7] = NAN; }).outcome,
            RungResult::Outcome::wrong);
  EXPECT_EQ(only_rung(size, [](float*) {}).outcome, RungResult::Outcome::timed);
}

// The memory is NaN before the run: what nobody writes is not what an earlier rung left.
TEST(Ladder, FindsWhatNobodyWrites) {
  const auto device = open_device("cpu", 2);
  std::vector<Kernel> kernels = {{.name = "lazy", .prepare = [](const Problem&, const LaunchContext&) {
                                    return [](const LaunchArgs&) {};
                                  }}};
  const Ladder ladder{
      .op = "gemm", .rungs = {{.name = "lazy", .title = "", .kernel = "lazy"}}, .kernels = &kernels};
  const LadderRun run = climb(*device, ladder_machine(), ladder,
                              gemm_ladder_problem({.m = 5, .n = 6, .k = 7}, DType::f64), kGemmCheck, {});
  EXPECT_TRUE(run.any_wrong());
}

TEST(Ladder, PicksRungsByName) {
  const auto device = open_device("cpu", 2);
  const LadderRun run = climb_gemm(*device, ladder_machine(), {33, 33, 33}, DType::f64,
                                   {.only = {"cpu:blas", "cpu:loops"}, .seconds = 0.01});
  ASSERT_EQ(run.rungs.size(), 2u);
  EXPECT_EQ(run.rungs[0].rung.name, "cpu:loops") << "in the order of the climb";
  testing::expect_rejected(
      [&] {
        climb_gemm(*device, ladder_machine(), {33, 33, 33}, DType::f64, {.only = {"cpu:blok"}});
      },
      {"cpu:blok", "rung"});
}

TEST(Ladder, LeavesOutWhatTakesTooLong) {
  const auto device = open_device("cpu", 2);
  LadderOptions options{.seconds = 0.01, .patience = 1e-6};
  const LadderRun run = climb_gemm(*device, ladder_machine(), {200, 200, 200}, DType::f32, options);
  EXPECT_EQ(run.rungs[0].outcome, RungResult::Outcome::left_out);
  EXPECT_NE(run.rungs[0].reason.find("would take"), std::string::npos) << run.rungs[0].reason;
  options.only = {"cpu:loops"};
  EXPECT_TRUE(climb_gemm(*device, ladder_machine(), {200, 200, 200}, DType::f32, options).rungs[0].timed());
}

TEST(Ladder, RefusesWhatDoesNotFit) {
  const auto device = open_device("cpu", 2);
  testing::expect_rejected(
      [&] {
        climb_gemm(*device, ladder_machine(), {.m = 1'000'000, .n = 1'000'000, .k = 8}, DType::f32, {});
      },
      {"1000000 x 1000000 x 8", "memory"});
}

TEST(Ladder, EveryRungNamesAKernelAndWhatItBuildsOn) {
  const Ladder& ladder = gemm_ladder();
  for (const Rung& rung : ladder.rungs) {
    EXPECT_TRUE(std::ranges::any_of(operator_of("gemm").kernels, [&](const Kernel& kernel) {
      return kernel.name == rung.kernel;
    })) << rung.kernel;
    EXPECT_FALSE(rung.title.empty() || rung.changed.empty() || rung.why.empty()) << rung.name;
    EXPECT_TRUE(rung.builds_on.empty() ||
                std::ranges::any_of(ladder.rungs, [&](const Rung& r) { return r.name == rung.builds_on; }))
        << rung.name;
  }
}

}  // namespace
}  // namespace headroom
