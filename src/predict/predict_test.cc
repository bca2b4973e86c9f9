#include "predict/predict.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/operator.h"
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
  m.launch_s = 1e-6;
  return m;
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
  return predict(one_step(cost, {.flops = cost.flops(), .bytes = cost.bytes()}, dtype), machine).steps.at(0);
}

TEST(Floor, ComputeBound) {
  const StepPrediction p = predicted({.multiply_add = 4e9, .other = 1e9, .special = 1e9, .bytes_read = 1e6});
  EXPECT_DOUBLE_EQ(p.floor_s, 6e-3);
  EXPECT_EQ(p.bound, "compute");
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

// A table may not know a rate; a floor that is not a number would spoil every sum it is part of.
TEST(Floor, AnUnknownRateBoundsNothing) {
  Machine m = toy();
  m.peak_flops.erase("fp64");
  for (const Cost& cost : {Cost{.multiply_add = 1e9, .bytes_read = 1e8}, Cost{.bytes_read = 1e8}}) {
    const StepPrediction p = predicted(cost, m, DType::f64);
    EXPECT_DOUBLE_EQ(p.floor_s, 10e-3);
    EXPECT_EQ(p.bound, "memory");
  }
}

TEST(Prediction, ReadsTheKernelsWork) {
  Plan plan = one_step({.multiply_add = 1e9, .bytes_read = 1e6},
                       {.flops = 2e9, .bytes = 2e6, .efficiency = 0.5, .launches = 3});
  EXPECT_DOUBLE_EQ(predict(plan, toy()).predicted_s, 4e-3 + 3e-6);
  plan.steps[0].work = {.flops = 1e9, .bytes = 1e9, .launches = 0};
  EXPECT_DOUBLE_EQ(predict(plan, toy()).predicted_s, 0.1);
  plan.steps[0].work = {.flops = 1, .bytes = 900, .launches = 0};
  plan.steps[0].cost = {};
  EXPECT_DOUBLE_EQ(predict(plan, toy()).predicted_s, 9e-9);
  plan.steps[0].workspace = 900;  // no longer fits L1 together with the rest
  EXPECT_DOUBLE_EQ(predict(plan, toy()).predicted_s, 90e-9);
}

TEST(Prediction, IsNeverBelowTheFloor) {
  const Plan plan = one_step({.multiply_add = 1e9}, {.flops = 1, .bytes = 1, .launches = 0});
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

TEST(Prediction, AnotherKindOfMachineGetsFloorsAlone) {
  const Plan plan = one_step({.multiply_add = 1e9}, {.flops = 1e9});
  const Prediction p = predict(plan, toy("gpu"));
  EXPECT_FALSE(p.has_times);
  EXPECT_DOUBLE_EQ(p.floor_s, 1e-3);
  EXPECT_EQ(p.predicted_s, 0);
}

// The floor is the schema's; what nobody has written cannot be predicted to take longer.
TEST(Prediction, AnOperatorWithoutKernelHasItsFloor) {
  Graph g;
  const ValueId x = g.add_value({.name = "x", .type = {{4, 3, 64, 64}, DType::f32}, .role = Role::input});
  g.outputs = {g.add_node("local_contrast_norm", {x}, {}, "contrast")[0]};
  const Plan plan =
      make_plan(g, testing::cpu_binding(Mode::eval, 4), even_without_kernel(first_that_accepts));
  const Prediction p = predict(plan, toy());
  ASSERT_EQ(p.steps.size(), 1u);
  const Cost cost = schema_of("local_contrast_norm").cost(plan.steps[0].problem);
  EXPECT_DOUBLE_EQ(p.floor_s, std::max(cost.flops() / 1e12, cost.bytes() / 10e9));
  EXPECT_DOUBLE_EQ(p.predicted_s, p.floor_s + 1e-6);
}

// Unrolling writes and reads a matrix the schema knows nothing of: 8 images, 9 values per window, 16 windows.
TEST(Work, OfIm2colExceedsTheLeast) {
  const Operator& conv = operator_of("conv2d");
  Problem p{.op = "conv2d", .inputs = {{{8, 1, 6, 6}}, {{2, 1, 3, 3}}}, .outputs = {{{8, 2, 4, 4}}}};
  for (const Kernel& kernel : conv.kernels) {
    if (kernel.name != "cpu:im2col_gemm") continue;
    const Work work = kernel.work(p, cpu_capabilities(1));
    EXPECT_DOUBLE_EQ(work.bytes, conv.schema.cost(p).bytes() + 2 * 4 * 8 * 9 * 16);
    EXPECT_DOUBLE_EQ(work.flops, conv.schema.cost(p).flops());
    return;
  }
  FAIL() << "there is no such kernel";
}

}  // namespace
}  // namespace headroom
