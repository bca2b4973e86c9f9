// What the time of a step on a GPU follows from, without one.
#include "predict/step_constants.h"

#include <gtest/gtest.h>

#include "predict/time_model.h"

namespace headroom {
namespace {

// Four multiprocessors of a TFLOP/s each.
Machine small_gpu() {
  Machine m;
  m.name = "small", m.kind = "gpu", m.cores = 4;
  m.peak_flops = {{"fp32", 4e12}};
  m.levels = {{"L2", 1e6, 1e12, 0}, {"memory", 1e12, 1e11, 0}};
  return m;
}

// 64 x 32 results over 100 terms.
Step product_step(ProductExtent tile, std::int64_t blocks) {
  Step step;
  step.problem = {.op = "x", .inputs = {{{64, 100}}}, .outputs = {{{64, 32}}}};
  step.work = {{{.family = "plain",
                 .flops = 2.0 * 64 * 32 * 100,
                 .bytes = 1000,
                 .extent = {64, 32, 100},
                 .tile = tile,
                 .blocks = blocks}}};
  return step;
}

Target target_with(bool tf32) {
  return Target(Capabilities{.kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 4},
                {.tf32 = tf32});
}

// Eight tiles of 16 x 16 on four multiprocessors: two after another, of 100 terms each.
TEST(StepChain, IsWhatTheBusiestMultiprocessorAddsUp) {
  const Machine gpu = small_gpu();
  const StepAmounts a = amounts_of(product_step({16, 16, 100}, 8), gpu, target_with(false));
  EXPECT_DOUBLE_EQ(a.chain, 200);
  EXPECT_DOUBLE_EQ(a.staged, 200 * 16) << "a value for each row of the tile and term";
  EXPECT_DOUBLE_EQ(amounts_of(product_step({16, 16, 100}, 2), gpu, target_with(false)).chain, 400)
      << "two blocks leave half of them idle";
}

TEST(StepChain, OfUnknownTilesIsTheWholeReduction) {
  const Machine gpu = small_gpu();
  Step step = product_step({}, 0);
  EXPECT_DOUBLE_EQ(amounts_of(step, gpu, target_with(false)).chain, 100);
  EXPECT_DOUBLE_EQ(amounts_of(step, gpu, target_with(false)).staged, 0);
  step.work.main().extent = {128 * 6, 128 * 2, 100};
  EXPECT_DOUBLE_EQ(amounts_of(step, gpu, target_with(false)).chain, 300)
      << "twelve large tiles, four at a time";
}

TEST(StepChain, IsNoConcernOfCpusAndOfStepsWithoutProducts) {
  Machine cpu = small_gpu();
  cpu.kind = "cpu";
  EXPECT_EQ(amounts_of(product_step({16, 16, 100}, 8), cpu, target_with(false)).chain, 0);
  Step plain = product_step({16, 16, 100}, 8);
  plain.work.main().extent = {};
  EXPECT_EQ(amounts_of(plain, small_gpu(), target_with(false)).chain, 0);
}

// A chain takes its time whatever the peak; shorter ones and faster terms are never slower.
TEST(StepChain, AddsItsLatency) {
  StepAmounts a{.flops = 1e6, .peak = 1e12, .bytes = 1e3, .rate = 1e12, .m = 64, .n = 64, .k = 100};
  StepConstants c;
  const double without = parts_of(a, c).seconds();
  a.chain = 100, a.staged = 1000, c.chain_s = 1e-7, c.stage_s = 1e-9;
  EXPECT_NEAR(parts_of(a, c).seconds(), without + 1e-5 + 1e-6, 1e-12);
  EXPECT_NEAR(parts_of(a, c).busy(), parts_of(a, c).seconds() - c.start_s, 1e-12);
  a.chain = 0, a.staged = 0;
  EXPECT_DOUBLE_EQ(parts_of(a, c).seconds(), without);
}

// tf32 changes what products do, and nothing else: the others are timed in both.
TEST(StepKind, NamesTf32OfProductsAlone) {
  const Machine gpu = small_gpu();
  Step step = product_step({}, 0);
  EXPECT_TRUE(amounts_of(step, gpu, target_with(true)).kind.ends_with(kTf32Kind));
  EXPECT_FALSE(amounts_of(step, gpu, target_with(false)).kind.ends_with(kTf32Kind));
  step.work.main().extent = {};
  EXPECT_EQ(amounts_of(step, gpu, target_with(true)).kind, amounts_of(step, gpu, target_with(false)).kind);
}

// Channels that lie side by side are what vectors of memory hold, not the pixels of a row.
TEST(StepGeometry, KnowsWhatLiesSideBySide) {
  Step step = product_step({}, 0);
  step.problem.inputs = {{{8, 24, 7, 5}}};
  StepAmounts a = amounts_of(step, small_gpu(), target_with(false));
  EXPECT_EQ(a.geometry.inner, 5);
  EXPECT_EQ(a.geometry.channels_last, 0);
  step.problem.inputs[0].layout = Layout::nhwc;
  a = amounts_of(step, small_gpu(), target_with(false));
  EXPECT_EQ(a.geometry.inner, 24);
  EXPECT_EQ(a.geometry.channels_last, 1);
}

}  // namespace
}  // namespace headroom
