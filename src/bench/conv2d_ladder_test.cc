#include "bench/conv2d_ladder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "bench/conv2d_check.h"
#include "bench/published_conv2d.h"
#include "ops/operator.h"

namespace headroom {
namespace {

Machine conv2d_machine() {
  Machine m;
  m.name = "slow", m.kind = "cpu";
  m.peak_flops = {{"fp32", 1e9}, {"fp64", 1e9}};
  m.levels = {{"memory", 1e12, 1e9, 1e9}};
  return m;
}

// The message of a request that is rejected; empty if it is not.
template <class Action>
std::string conv2d_rejection(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.blame(), Blame::request);
    return error.what();
  }
  return "";
}

constexpr Conv2dPass kAll[] = {Conv2dPass::forward, Conv2dPass::grad_input, Conv2dPass::grad_weight};

// One run of a CPU's kernel whose output is changed afterwards, checked within a budget of FLOPs.
RungResult spoilt_run(const Conv2dSize& size, Conv2dPass pass, double budget,
                      const std::function<void(float*)>& spoil) {
  const std::string op(operator_name(pass));
  std::vector<Kernel> kernels;
  for (const Kernel& kernel : operator_of(op).kernels)
    if (kernel.name == "cpu:im2col_gemm") kernels.push_back(kernel);
  const Kernel sound = kernels.at(0);
  kernels[0].prepare = [&](const Problem& p, const LaunchContext& context) -> Launcher {
    return [launch = sound.prepare(p, context), &spoil](const LaunchArgs& args) {
      launch(args);
      spoil(args.out<float>(0));
    };
  };
  const Ladder ladder{
      .op = op, .rungs = {{.name = "x", .title = "", .kernel = "cpu:im2col_gemm"}}, .kernels = &kernels};
  const auto device = open_device("cpu", 2);
  const auto check = [&](const Problem& p, const std::vector<HostTensor>& inputs, const Policy& policy) {
    return conv2d_check(p, inputs, policy, budget);
  };
  return climb(*device, conv2d_machine(), ladder, conv2d_ladder_problem(size, pass, DType::f32), check,
               {.seconds = 0.001})
      .rungs.at(0);
}

const Conv2dSize kOdd = {.name = "odd",
                         .batch = 7,
                         .channels = 6,
                         .height = 11,
                         .width = 9,
                         .maps = 8,
                         .kernel = 3,
                         .stride = 2,
                         .padding = 1,
                         .groups = 2};

TEST(Conv2dLadder, ClimbsAllPassesOnTheCpu) {
  const auto device = open_device("cpu", 2);
  for (const Conv2dPass pass : kAll) {
    const LadderRun run = climb_conv2d(*device, conv2d_machine(), kOdd, pass, DType::f32, {.seconds = 0.001});
    EXPECT_FALSE(run.any_wrong()) << name_of(pass);
    std::size_t timed = 0;
    for (const RungResult& r : run.rungs) {
      timed += r.timed() ? 1 : 0;
      if (r.rung.kernel.starts_with("cu")) {
        EXPECT_NE(r.reason.find("needs a GPU"), std::string::npos) << r.reason;
      }
      if (r.timed()) {
        EXPECT_GT(r.error.frobenius, 0) << "fp32 does not hit fp64 by chance";
        EXPECT_LT(r.error.frobenius, 1e-6) << r.rung.name;
      }
    }
    EXPECT_GE(timed, 2u) << name_of(pass);
  }
}

// Whether every element is compared, or only sums of lines with random signs: the second budget is that of
// one line or two, and only the first and the last of them are compared by themselves.
TEST(Conv2dLadder, FindsOneWrongElementInEachPass) {
  for (const Conv2dPass pass : kAll)
    for (const double budget : {1e12, 2e4}) {
      SCOPED_TRACE(fmt::format("{} {}", name_of(pass), budget));
      const std::int64_t count = operator_of(operator_name(pass))
                                     .schema
                                     .infer(conv2d_ladder_problem(kOdd, pass, DType::f32).inputs,
                                            conv2d_ladder_problem(kOdd, pass, DType::f32).attrs)
                                     .at(0)
                                     .shape.numel();
      EXPECT_TRUE(spoilt_run(kOdd, pass, budget, [](float*) {}).timed());
      for (const std::int64_t at : {std::int64_t{0}, count * 5 / 16, count / 2, count - 1}) {
        const RungResult r = spoilt_run(kOdd, pass, budget, [at](float* out) { out[at] += 0.05f; });
        EXPECT_EQ(r.outcome, RungResult::Outcome::wrong) << at;
        EXPECT_NE(r.reason.find("but fp64 gives"), std::string::npos) << r.reason;
        EXPECT_EQ(spoilt_run(kOdd, pass, budget, [at](float* out) { out[at] = NAN; }).outcome,
                  RungResult::Outcome::wrong);
      }
    }
}

TEST(Conv2dLadder, NamesTheWrongElement) {
  const Conv2dSize size{
      .name = {}, .batch = 3, .channels = 2, .height = 6, .width = 7, .maps = 4, .kernel = 3};
  const RungResult r = spoilt_run(size, Conv2dPass::forward, 1e12,
                                  [](float* out) { out[((1 * 4 + 2) * 4 + 3) * 5 + 1] = 99; });
  EXPECT_TRUE(r.reason.starts_with("image 1: map 2, row 3, column 1 is 99,")) << r.reason;
}

TEST(Conv2dLadder, RungsAreKernelsOfTheOperatorsAndBuildOnRungsAboveThem) {
  for (const Conv2dPass pass : kAll) {
    const Ladder& ladder = conv2d_ladder(pass);
    std::set<std::string> names, kernels;
    for (const Kernel& kernel : operator_of(ladder.op).kernels) kernels.emplace(kernel.name);
    std::set<std::string> used;
    for (const Rung& rung : ladder.rungs) {
      EXPECT_TRUE(kernels.contains(rung.kernel)) << rung.kernel;
      EXPECT_TRUE(names.insert(rung.name).second) << rung.name << " twice";
      used.insert(rung.kernel);
      EXPECT_FALSE(rung.changed.empty() || rung.why.empty() || rung.title.empty()) << rung.name;
    }
    for (const Rung& rung : ladder.rungs)
      EXPECT_TRUE(rung.builds_on.empty() || names.contains(rung.builds_on)) << rung.builds_on;
    EXPECT_EQ(used, kernels) << "every kernel is a rung";
  }
}

TEST(Conv2dLadder, KnowsTheWorkloads) {
  const auto flops = [](const std::string& name) {
    double sum = 0;
    for (const Conv2dSize& size : conv2d_workload(name, 0)) {
      const LadderProblem p = conv2d_ladder_problem(size, Conv2dPass::forward, DType::f32);
      sum += operator_of("conv2d")
                 .schema
                 .cost({"conv2d", p.inputs, operator_of("conv2d").schema.infer(p.inputs, p.attrs), p.attrs})
                 .multiply_add;
    }
    return sum / 1e9;
  };
  EXPECT_NEAR(flops("ece408"), 51.23 + 205.75, 0.02);
  EXPECT_NEAR(flops("L1"), 124.2, 0.1);
  EXPECT_NEAR(flops("L2"), 532.7, 0.1);
  EXPECT_NEAR(flops("L3"), 195.7, 0.1);
  EXPECT_NEAR(flops("L4"), 20.55, 0.01);
  EXPECT_NEAR(flops("L5"), 41.11, 0.01);
  EXPECT_EQ(conv2d_workload("ece408", 100)[1].batch, 100);
  EXPECT_EQ(conv2d_rejection([] { conv2d_workload("L6", 0); }), "`workload`: there is no 'L6'");
}

TEST(Conv2dLadder, PublishedSumsAreTheSumsOfTheLayers) {
  for (const PublishedConv2d& p : published_conv2d()) {
    if (p.conv1_ms > 0) {
      EXPECT_NEAR(p.conv1_ms + p.conv2_ms, p.sum_ms, 0.1) << p.what;
    }
    bool known = p.rung.empty();
    for (const Rung& rung : conv2d_ladder(Conv2dPass::forward).rungs) known |= rung.name == p.rung;
    EXPECT_TRUE(known) << p.rung;
  }
}

TEST(Conv2dLadder, PublishedTimesStandBesideTheRungsOfTheSameLayer) {
  const std::vector<Conv2dSize> layers = conv2d_workload("ece408", 1000);
  const std::vector<PublishedRung> rungs = published_conv2d_rungs(layers[1]);
  ASSERT_EQ(rungs.size(), 1u);
  EXPECT_EQ(rungs[0].rung, "cuda:naive");
  EXPECT_DOUBLE_EQ(rungs[0].low_s, 16.349e-3);
  EXPECT_TRUE(published_conv2d_rungs(conv2d_workload("ece408", 50)[1]).empty());
  EXPECT_TRUE(published_conv2d_rungs(conv2d_workload("L1", 10000)[0]).empty());
}

TEST(Conv2dLadder, RejectsSizes) {
  const auto message = [](Conv2dSize size) { return conv2d_rejection([&] { require_conv2d_size(size); }); };
  EXPECT_EQ(message({.name = {}, .batch = 0}), "`batch` is 0: from 1 to 1073741824");
  EXPECT_EQ(message({.name = {}, .padding = -1}), "`padding` is -1: from 0 to 1073741824");
  EXPECT_EQ(message({.name = {}, .channels = 6, .maps = 4, .groups = 4}),
            "`groups` 4 does not divide 6 channels and 4 maps");
  EXPECT_EQ(message({.name = {}, .height = 5, .width = 9, .kernel = 7}),
            "`kernel` 7 is larger than the padded image of 5 x 9");
  EXPECT_NE(message({.name = {}, .batch = 1 << 30, .height = 1 << 30, .width = 1 << 30})
                .find("no machine has the memory"),
            std::string::npos);
}

// Without a GPU a sweep lists all its values with the reason.
TEST(Conv2dLadder, SweepsEveryPair) {
  const auto device = open_device("cpu", 1);
  const LadderRun run =
      sweep_conv2d(*device, conv2d_machine(), kOdd, {.blocks = {8, 33}, .coarsens = {1, 4, 5}}, {});
  ASSERT_EQ(run.rungs.size(), 6u);
  EXPECT_EQ(run.rungs[4].rung.variant, "block=33,coarsen=4");
  for (const RungResult& r : run.rungs) EXPECT_NE(r.reason.find("needs a GPU"), std::string::npos);
}

}  // namespace
}  // namespace headroom
