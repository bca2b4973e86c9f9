#include "predict/predict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/operator.h"
#include "ops/testing/harness.h"
#include "plan/testing/small_net.h"

namespace headroom {
namespace {

// Round numbers: 1 TFLOP/s in fp32, a quarter in fp64, 1 kB of L1 at 100 GB/s, 1 MB of L2 of unknown rate,
// memory at 10 GB/s, a microsecond to wake the team.
Machine toy(std::string kind = "cpu") {
  Machine m;
  m.name = "toy";
  m.kind = std::move(kind);
  m.peak_flops = {{"fp32", 1e12}, {"fp64", 0.25e12}};
  m.levels = {{"L1", 1e3, 100e9, 0}, {"L2", 1e6, 0, 0}, {"memory", 1e12, 10e9, 0}};
  m.launch.host_s = 1e-6;
  return m;
}

Work work_of(double flops, double bytes, int launches = 1, std::string_view family = "plain") {
  return {{{.family = family, .flops = flops, .bytes = bytes, .count = launches}}};
}

Plan one_step(Cost cost, Work work, DType dtype = DType::f32) {
  Plan plan;
  Step step;
  step.problem = {.op = "x", .inputs = {{{1}, dtype}}, .outputs = {{{1}, dtype}}};
  step.cost = cost;
  step.work = work;
  plan.steps = {step};
  return plan;
}

StepPrediction predicted(const Cost& cost, const Machine& machine = toy(), DType dtype = DType::f32) {
  return predict(one_step(cost, work_of(cost.flops(), cost.bytes()), dtype), machine).steps.at(0);
}

TEST(Floor, ComputeBound) {
  const StepPrediction p = predicted({.multiply_add = 4e9, .other = 1e9, .special = 1e9, .bytes_read = 1e6});
  EXPECT_DOUBLE_EQ(p.floor_s, 6e-3);
  EXPECT_EQ(p.bound, "compute");
}

// A slip in a machine's file must not make a floor that a program can beat.
TEST(Floor, ALevelSlowerThanMemoryDoesNotRaiseIt) {
  for (const double rate : {1e9, 5e9, 10e9, 50e9, 200e9})
    for (const double bytes : {5e2, 5e5, 1e8}) {
      Machine with = toy();
      with.levels[1].bytes_per_s = rate;
      Machine without = with;
      without.levels.erase(without.levels.begin() + 1);
      EXPECT_LE(predicted({.bytes_read = bytes}, with).floor_s,
                predicted({.bytes_read = bytes}, without).floor_s)
          << rate << " bytes/s, " << bytes << " bytes";
    }
}

// Winograd's products are fewer than those of the definition; tiles may also make them more.
TEST(Floor, FollowsAnAlgorithmWithFewerProducts) {
  Plan plan = one_step({.multiply_add = 4e9}, work_of(2e9, 0));
  EXPECT_DOUBLE_EQ(predict(plan, toy()).steps.at(0).floor_s, 4e-3);
  plan.steps[0].work.fewer_products = true;
  EXPECT_DOUBLE_EQ(predict(plan, toy()).steps.at(0).floor_s, 2e-3);
  plan.steps[0].work.main().flops = 5e9;
  EXPECT_DOUBLE_EQ(predict(plan, toy()).steps.at(0).floor_s, 4e-3);
}

// Exact fp32 by AMX: a sixth of the rate of bf16, where that is more. Other kernels keep the floor of
// vectors.
TEST(Floor, FollowsAKernelThatMultipliesParts) {
  Machine cpu = toy();
  cpu.kind = "cpu";
  cpu.peak_flops["bf16"] = 12e12;
  Plan plan = one_step({.multiply_add = 4e9}, work_of(4e9, 0));
  EXPECT_DOUBLE_EQ(predict(plan, cpu).steps.at(0).floor_s, 4e-3);
  plan.steps[0].work.main().unit = Unit::bf16;
  EXPECT_DOUBLE_EQ(predict(plan, cpu).steps.at(0).floor_s, 2e-3);
  cpu.peak_flops["bf16"] = 3e12;
  EXPECT_DOUBLE_EQ(predict(plan, cpu).steps.at(0).floor_s, 4e-3);
}

TEST(Floor, MemoryBound) {
  const StepPrediction p = predicted({.multiply_add = 4e9, .bytes_read = 3e8, .bytes_written = 1e8});
  EXPECT_DOUBLE_EQ(p.floor_s, 40e-3);
  EXPECT_EQ(p.bound, "memory");
}

TEST(Floor, WhatFitsACacheIsChargedAtItsRate) {
  EXPECT_DOUBLE_EQ(predicted({.bytes_read = 1000}).floor_s, 10e-9);
  EXPECT_EQ(predicted({.bytes_read = 1000}).bound, "L1");
  EXPECT_EQ(predicted({.bytes_read = 1001}).bound, "memory") << "L2's rate is not known: the next level's";
  EXPECT_DOUBLE_EQ(predicted({.bytes_read = 1001}).floor_s, 100.1e-9);
}

TEST(Floor, EachPrecisionHasItsRate) {
  EXPECT_DOUBLE_EQ(predicted({.multiply_add = 1e12}, toy(), DType::f32).floor_s, 1);
  EXPECT_DOUBLE_EQ(predicted({.multiply_add = 1e12}, toy(), DType::f64).floor_s, 4);
}

TEST(Floor, TensorCoresServeSinglePrecisionAtAThird) {
  Machine m = toy("gpu");
  m.peak_flops = {
      {"fp64", 1e12}, {"fp64_tensor", 2e12}, {"fp32", 3e12}, {"fp16", 30e12}, {"fp16_vector", 6e12}};
  EXPECT_DOUBLE_EQ(product_peak(m, DType::f32), 10e12);
  EXPECT_DOUBLE_EQ(product_peak(m, DType::f16), 30e12);
  EXPECT_DOUBLE_EQ(product_peak(m, DType::f64), 2e12);
  EXPECT_DOUBLE_EQ(product_peak(m, DType::bf16), 10e12) << "no unit of its own: as fp32";
  EXPECT_DOUBLE_EQ(vector_peak(m, DType::f32), 3e12);
  EXPECT_DOUBLE_EQ(vector_peak(m, DType::f64), 1e12);
  EXPECT_DOUBLE_EQ(vector_peak(m, DType::f16), 6e12);
  m.peak_flops = {{"fp32", 20e12}, {"fp16", 30e12}};
  EXPECT_DOUBLE_EQ(product_peak(m, DType::f32), 20e12) << "where the vector units are faster";
  const StepPrediction p = predicted({.multiply_add = 20e12, .other = 20e12}, m);
  EXPECT_DOUBLE_EQ(p.floor_s, 2) << "only products may use matrix units";
}

// A table may lack a rate; a floor of NaN would spoil every sum.
TEST(Floor, AnUnknownRateBoundsNothing) {
  Machine m = toy();
  m.peak_flops.erase("fp64");
  for (const Cost& cost : {Cost{.multiply_add = 1e9, .bytes_read = 1e8}, Cost{.bytes_read = 1e8}}) {
    const StepPrediction p = predicted(cost, m, DType::f64);
    EXPECT_DOUBLE_EQ(p.floor_s, 10e-3);
    EXPECT_EQ(p.bound, "memory");
  }
}

constexpr const char* kConstants =
    R"({"name": "toy", "kinds": {"plain": {"efficiency": 1}, "half": {"efficiency": 0.5, "half_n": 1}}})";
// The time of arithmetic and memory traffic that overlap.
double together(double a, double b) { return std::pow(std::pow(a, 4) + std::pow(b, 4), 0.25); }

// People edit the file of constants, so errors in it are named.
TEST(TimeModel, RejectsWhatItCannotUse) {
  const auto wrong = [](const std::string& text) {
    try {
      ConstantsModel(text, "constants.json");
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(wrong(kConstants), "");
  EXPECT_NE(wrong("[]"), "");
  EXPECT_NE(wrong(R"({"name": "x"})"), "");
  EXPECT_NE(wrong(R"({"name": "x", "kinds": {}})").find("plain"), std::string::npos);
  EXPECT_NE(wrong(R"({"name": "x", "kinds": {"plain": {"efficiency": -1}}})").find("efficiency"),
            std::string::npos);
}

// A kernel whose family has no constants could not be predicted.
TEST(TimeModel, HasConstantsForEveryKernel) {
  const auto& on_cpus = dynamic_cast<const ConstantsModel&>(default_time_model(toy("cpu")));
  const auto& on_gpus = dynamic_cast<const ConstantsModel&>(default_time_model(toy("gpu")));
  Capabilities gpu{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132};
  std::size_t works = 0;
  for (const Operator& op : operators())
    for (const Case& c : op.cases)
      for (DType dtype : {DType::f64, DType::f32, DType::bf16})
        for (bool tf32 : {false, true}) {
          const Problem problem = testing::problem_of(op, c, dtype);
          for (const Kernel& kernel : op.kernels) {
            const Target target(kernel.device == DeviceKind::cuda ? gpu : cpu_capabilities(2),
                                {.tf32 = tf32});
            if (!accepts(kernel, problem, target).ok) continue;
            const auto& model = kernel.device == DeviceKind::cuda ? on_gpus : on_cpus;
            for (const KernelLaunch& launch : kernel.work(problem, target).launches) {
              EXPECT_TRUE(model.has(std::string(launch.family))) << op.schema.name << " by " << kernel.name;
              EXPECT_GE(launch.flops, 0) << problem.str();
              EXPECT_GT(launch.useful, 0) << problem.str();
              EXPECT_LE(launch.useful, 1) << problem.str();
              ++works;
            }
          }
        }
  EXPECT_GT(works, 1000u);
}

// GPU convolutions describe their work without a device.
TEST(Work, OfConvolutionsForGpusNamesUnitsAndBlocks) {
  const Target h200(Capabilities{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132});
  const Problem p{.op = "conv2d",
                  .inputs = {{{32, 64, 28, 28}}, {{96, 64, 3, 3}}},
                  .outputs = {{{32, 96, 28, 28}}},
                  .attrs = {{"pads", std::vector<std::int64_t>{1, 1, 1, 1}}}};
  std::size_t seen = 0;
  for (const Kernel& kernel : operator_of("conv2d").kernels) {
    if (kernel.device != DeviceKind::cuda || !accepts(kernel, p, h200).ok) continue;
    const KernelLaunch main = kernel.work(p, h200).launches.at(0);
    EXPECT_NE(main.family, "plain") << kernel.name;
    EXPECT_EQ(main.extent.m, 32 * 28 * 28) << kernel.name;
    EXPECT_EQ(main.extent.k, 64 * 9) << kernel.name;
    const bool in_tf32 = kernel.name == "cuda:image_mma" || kernel.name == "cuda:implicit_gemm";
    const bool in_fp16 = kernel.name == "cuda:block_mma";
    EXPECT_EQ(main.unit, in_tf32 ? Unit::tf32 : in_fp16 ? Unit::fp16 : Unit::fp32) << kernel.name;
    EXPECT_GE(main.l2_bytes == 0 ? main.bytes : main.l2_bytes, main.bytes) << kernel.name;
    if (kernel.name == "cuda:implicit_gemm") {
      EXPECT_EQ(main.blocks, (32 * 28 * 28 + 63) / 64 * 2);
      EXPECT_DOUBLE_EQ(main.useful, 0.75);
    }
    ++seen;
  }
  EXPECT_GE(seen, 3u);
}

TEST(Prediction, ReadsTheKernelsWork) {
  Plan plan = one_step({.multiply_add = 1e9, .bytes_read = 1e6}, work_of(2e9, 2e6, 3, "half"));
  const ConstantsModel model(kConstants, "a test");
  EXPECT_DOUBLE_EQ(predict(plan, toy(), model).predicted_s, together(4e-3, 0.2e-3) + 3e-6);
  plan.steps[0].work.main().extent = {.n = 3};  // half at 1: three quarters of the peak
  EXPECT_DOUBLE_EQ(predict(plan, toy(), model).predicted_s, together(4e-3 / 0.75, 0.2e-3) + 3e-6);
  plan.steps[0].work.main().extent = {};
  plan.steps[0].work.main().useful = 0.5;
  EXPECT_DOUBLE_EQ(predict(plan, toy(), model).predicted_s, together(8e-3, 0.2e-3) + 3e-6);
  plan.steps[0].work = work_of(1e9, 1e9, 0);
  EXPECT_DOUBLE_EQ(predict(plan, toy(), model).predicted_s, together(1e-3, 0.1));
  plan.steps[0].work = work_of(1, 900, 0);
  plan.steps[0].cost = {};
  EXPECT_DOUBLE_EQ(predict(plan, toy(), model).predicted_s, together(1e-12, 9e-9));
  plan.steps[0].workspace = 900;  // together with the rest it no longer fits L1
  EXPECT_DOUBLE_EQ(predict(plan, toy(), model).predicted_s, together(1e-12, 90e-9));
}

TEST(Prediction, IsNeverBelowTheFloor) {
  const Plan plan = one_step({.multiply_add = 1e9}, work_of(1, 1, 0));
  EXPECT_DOUBLE_EQ(predict(plan, toy()).predicted_s, 1e-3);
}

TEST(Prediction, AddsUpOverTheSteps) {
  const Plan plan = make_plan(testing::small_net(64).graph, testing::cpu_binding(Mode::train, 64));
  const Prediction p = predict(plan, toy());
  ASSERT_EQ(p.steps.size(), plan.steps.size());
  double floor = 0, time = 0;
  for (const StepPrediction& step : p.steps) {
    EXPECT_GT(step.floor_s, 0);
    EXPECT_LE(step.floor_s, step.predicted_s);
    floor += step.floor_s, time += step.predicted_s;
  }
  EXPECT_DOUBLE_EQ(p.floor_s, floor);
  EXPECT_DOUBLE_EQ(p.predicted_s, time);
  EXPECT_TRUE(p.has_times);
  EXPECT_EQ(p.machine, "toy");
}

// Two streams: the second waits for step 0, step 3 for it; gaps come after steps.
TEST(Schedule, EndsWithItsLastStep) {
  const std::vector<int> first = {0}, second = {1};
  std::vector<ScheduledStep> steps = {{.seconds = 1, .gap = 0.5},
                                      {.seconds = 4, .stream = 1, .waits = first},
                                      {.seconds = 2},
                                      {.seconds = 1, .waits = second}};
  EXPECT_DOUBLE_EQ(end_of_schedule(steps), 1.5 + 4 + 1);
  steps[3].waits = {};
  EXPECT_DOUBLE_EQ(end_of_schedule(steps), 1.5 + 4) << "the other stream is done before";
  for (ScheduledStep& step : steps) step.busy = step.seconds;
  EXPECT_DOUBLE_EQ(end_of_schedule(steps), 8) << "what keeps the device busy does not overlap";
  EXPECT_EQ(end_of_schedule({}), 0);
}

// Few pieces leave cores idle; a vector that one thread takes moves at the rate of one core.
TEST(StepAmounts, CountTheCoresThatTakePart) {
  Machine m = toy();
  m.cores = 4;
  m.levels.back().one_core_bytes_per_s = 4e9;
  Plan plan = one_step({}, work_of(1e9, 1e8, 1, "half"));
  Step& step = plan.steps[0];
  const auto at = [&](std::int64_t blocks) {
    step.work.main().blocks = blocks;
    return amounts_of(step, m, plan.binding.target);
  };
  EXPECT_DOUBLE_EQ(at(0).peak, 1e12) << "nothing is known: all take part";
  EXPECT_DOUBLE_EQ(at(1).peak, 0.25e12);
  EXPECT_DOUBLE_EQ(at(1).rate, 4e9);
  EXPECT_DOUBLE_EQ(at(4).peak, 1e12);
  EXPECT_DOUBLE_EQ(at(4).rate, 10e9);
  EXPECT_DOUBLE_EQ(at(5).peak, 1e12 * 5 / 8) << "three wait while one does the fifth";
  step.work.main().family = "plain";
  EXPECT_DOUBLE_EQ(at(0).peak, 0.25e12) << "one element is for one thread";
}

TEST(Prediction, AnotherKindOfMachineGetsFloorsAlone) {
  const Plan plan = one_step({.multiply_add = 1e9}, work_of(1e9, 0));
  const Prediction p = predict(plan, toy("gpu"));
  EXPECT_FALSE(p.has_times);
  EXPECT_DOUBLE_EQ(p.floor_s, 1e-3);
  EXPECT_EQ(p.predicted_s, 0);
}

// The floor comes from the schema; an unwritten kernel cannot be predicted to take longer.
TEST(Prediction, AnOperatorWithoutKernelHasItsFloor) {
  Graph g;
  const ValueId x = g.add_value({.name = "x", .type = {{4, 3, 64, 64}, DType::f32}, .role = Role::input});
  const Attrs same{{"shapes", std::vector<std::int64_t>{4, 4, 3, 64, 64}}, {"dtypes", std::string("fp32")}};
  g.outputs = {g.add_node("gap", {x}, same, "unknown")[0]};
  const Plan plan =
      make_plan(g, testing::cpu_binding(Mode::eval, 4), even_without_kernel(first_that_accepts));
  const Prediction p = predict(plan, toy(), ConstantsModel(kConstants, "a test"));
  ASSERT_EQ(p.steps.size(), 1u);
  const Cost cost = schema_of("gap").cost(plan.steps[0].problem);
  EXPECT_DOUBLE_EQ(p.floor_s, std::max(cost.flops() / 1e12, cost.bytes() / 10e9));
  EXPECT_DOUBLE_EQ(p.predicted_s, together(cost.flops() / 1e12, cost.bytes() / 10e9) + 1e-6);
}

// Unrolling moves a matrix that the schema does not count: 8 images, 9 values per window, 16 windows.
TEST(Work, OfIm2colExceedsTheLeast) {
  const Operator& conv = operator_of("conv2d");
  Problem p{.op = "conv2d", .inputs = {{{8, 1, 6, 6}}, {{2, 1, 3, 3}}}, .outputs = {{{8, 2, 4, 4}}}};
  for (const Kernel& kernel : conv.kernels) {
    if (kernel.name != "cpu:im2col_gemm") continue;
    const Work work = kernel.work(p, cpu_capabilities(1));
    EXPECT_DOUBLE_EQ(work.bytes(), conv.schema.cost(p).bytes() + 2 * 4 * 8 * 9 * 16);
    EXPECT_DOUBLE_EQ(work.flops(), conv.schema.cost(p).flops());
    return;
  }
  FAIL() << "there is no such kernel";
}

}  // namespace
}  // namespace headroom
