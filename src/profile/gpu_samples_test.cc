#include "profile/gpu_samples.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "profile/gpu_sampling.h"

namespace headroom {
namespace {

constexpr std::int64_t kMicro = 1000;

// Steps of two layers: 30 us with 80 % of the multiprocessors, 20 us idle, 50 us with 20 % and tensor cores.
// They come in bursts with idle gaps. Samples are on a clock that is `behind` the kernels' one.
struct SyntheticRun {
  std::vector<LayerKernel> kernels;
  std::vector<Trace::Interval> runs;
  std::vector<GpuSample> samples;

  SyntheticRun(std::int64_t behind, std::int64_t interval) {
    std::int64_t now = 700 * kMicro;
    for (const int burst : {5, 12, 20, 33}) {
      for (int i = 0; i < burst; ++i, now += 104 * kMicro) {
        kernels.push_back({{now, now + 30 * kMicro}, 0});
        kernels.push_back({{now + 50 * kMicro, now + 100 * kMicro}, 1});
        runs.push_back({now, now + 100 * kMicro});
      }
      now += 500 * kMicro;
    }
    for (std::int64_t t = 0; t < now; t += interval) samples.push_back(sample(t, t + interval, behind));
  }
  GpuSample sample(std::int64_t begin, std::int64_t end, std::int64_t behind) const {
    GpuSample sample{{begin - behind, end - behind}, {}};
    for (const LayerKernel& k : kernels) {
      const double part = double(std::min(end, k.end_ns) - std::max(begin, k.begin_ns)) / double(end - begin);
      if (part > 0) sample.use.add(use_of(k.layer), part);
    }
    return sample;
  }
  static UnitUse use_of(int layer) {
    if (layer == 0) return {.sm = 80, .tensor = 0, .l2 = 30, .dram = 60, .dram_bytes_per_s = 2e12};
    return {.sm = 20, .tensor = 70, .l2 = 10, .dram = 5, .dram_bytes_per_s = 1e11};
  }
};

TEST(GpuSamples, TheShiftOfTheClockIsFound) {
  const std::int64_t day = 86'400'000'000'000;
  for (const std::int64_t behind :
       {0L, 37 * kMicro, 1640 * kMicro, -2345 * kMicro, day}) {  // a step takes 104 us
    const SyntheticRun run(behind, 7 * kMicro);
    const ClockShift shift = align_samples(run.samples, IntervalSet(run.kernels));
    EXPECT_NEAR(double(shift.ns - behind), 0, 1.0 * kMicro) << behind;
    EXPECT_GT(shift.correlation, 0.7) << behind;
  }
}

TEST(GpuSamples, AnyIntervalFindsIt) {
  for (const std::int64_t interval : {3, 4, 5, 9, 11, 16, 23}) {
    const SyntheticRun run(1640 * kMicro, interval * kMicro);
    const ClockShift shift = align_samples(run.samples, IntervalSet(run.kernels));
    EXPECT_NEAR(double(shift.ns), 1640.0 * kMicro, double(interval * kMicro) / 4) << interval;
  }
}

TEST(GpuSamples, LongSamplesStillFindIt) {
  const SyntheticRun run(1640 * kMicro, 60 * kMicro);
  const ClockShift shift = align_samples(run.samples, IntervalSet(run.kernels));
  EXPECT_NEAR(double(shift.ns), 1640.0 * kMicro, 8.0 * kMicro);
}

TEST(GpuSamples, WhatDoesNotFitHasNoCorrelation) {
  SyntheticRun run(0, 7 * kMicro);
  EXPECT_EQ(align_samples({}, IntervalSet(run.kernels)).correlation, 0);
  EXPECT_EQ(align_samples(run.samples, {}).correlation, 0);
  for (std::size_t s = 0; s < run.samples.size(); ++s) run.samples[s].use.sm = double(s * 7919 % 101);
  EXPECT_LT(align_samples(run.samples, IntervalSet(run.kernels)).correlation, 0.3);
  for (GpuSample& sample : run.samples) sample.use.sm = 50;  // another process keeps the GPU busy
  EXPECT_EQ(align_samples(run.samples, IntervalSet(run.kernels)).correlation, 0);
}

TEST(GpuSamples, LayersGetTheirOwnUse) {
  const std::int64_t behind = 1640 * kMicro;
  const SyntheticRun run(behind, 1 * kMicro);  // a kernel holds whole samples
  const SampledUse use = assign_samples(run.samples, run.kernels, run.runs, behind, 3);
  ASSERT_EQ(use.layers.size(), 3u);
  for (const int layer : {0, 1}) {
    const LayerUse& got = use.layers[static_cast<std::size_t>(layer)];
    const UnitUse expected = SyntheticRun::use_of(layer);
    EXPECT_NEAR(got.mean.sm, expected.sm, 1e-6);
    EXPECT_NEAR(got.mean.tensor, expected.tensor, 1e-6);
    EXPECT_NEAR(got.mean.l2, expected.l2, 1e-6);
    EXPECT_NEAR(got.mean.dram, expected.dram, 1e-6);
    EXPECT_NEAR(got.mean.dram_bytes_per_s, expected.dram_bytes_per_s, 1);
    EXPECT_NEAR(got.seconds, 70 * (layer == 0 ? 30e-6 : 50e-6), 1e-9);
    EXPECT_NEAR(got.alone_s, got.seconds, 1e-9);
  }
  EXPECT_EQ(use.layers[2].seconds, 0) << "a layer without kernels";
  EXPECT_EQ(use.no_layer.seconds, 0);
  EXPECT_NEAR(use.idle.seconds, 70 * 20e-6, 1e-9) << "gaps between runs do not count";
  EXPECT_NEAR(use.idle.mean.sm, 0, 1e-9);
  EXPECT_NEAR(use.all.mean.sm, 0.3 * 80 + 0.5 * 20, 1e-6);
  EXPECT_NEAR(use.all.seconds, 70 * 100e-6, 1e-9);
}

TEST(GpuSamples, AWrongShiftMixesTheLayers) {
  const SyntheticRun run(0, 1 * kMicro);
  const SampledUse use = assign_samples(run.samples, run.kernels, run.runs, 50 * kMicro, 2);
  EXPECT_GT(use.layers[1].mean.sm, 40) << "the first layer's samples fall on the second";
}

TEST(GpuSamples, SamplesThatSeveralLayersShareAreNotAlone) {
  const SyntheticRun run(0, 100 * kMicro);
  const SampledUse use = assign_samples(run.samples, run.kernels, run.runs, 0, 2);
  EXPECT_EQ(use.layers[0].alone_s, 0);
  EXPECT_GT(use.layers[0].seconds, 0);
  std::vector<LayerKernel> two = run.kernels;  // at the same time, of no layer
  for (const LayerKernel& k : run.kernels) two.push_back({k, -1});
  const SampledUse both = assign_samples(run.samples, two, run.runs, 0, 2);
  EXPECT_NEAR(both.no_layer.seconds, use.layers[0].seconds + use.layers[1].seconds, 1e-12);
  EXPECT_NEAR(both.idle.seconds, use.idle.seconds, 1e-12);
  const SyntheticRun short_samples(0, 1 * kMicro);
  EXPECT_EQ(assign_samples(short_samples.samples, two, run.runs, 0, 2).layers[1].alone_s, 0);
}

TEST(GpuSamples, ARunOverTimeIsFinerThanItsSamples) {
  const SyntheticRun run(1640 * kMicro, 7 * kMicro);
  const std::vector<RunPoint> points = fold_samples(run.samples, run.runs, 1640 * kMicro, 50);
  ASSERT_EQ(points.size(), 50u);
  EXPECT_NEAR(points.back().end_s, 100e-6, 1e-12);
  EXPECT_NEAR(points[5].use.sm, 80, 1e-6) << "in the middle of the first layer";
  EXPECT_NEAR(points[20].use.sm, 0, 1e-6) << "between the layers";
  EXPECT_NEAR(points[40].use.tensor, 70, 1e-6);
  EXPECT_TRUE(fold_samples({}, run.runs, 0, 50).empty());
  EXPECT_TRUE(fold_samples(run.samples, {}, 0, 50).empty());
}

class AssignedSamples : public ::testing::Test {
 protected:
  AssignedSamples() {
    for (const auto& [layer, other] : {std::pair("conv", "relu"), {"fc", "fc"}}) {
      Step step;
      step.charges = {{.layer = other, .share = 0.2}, {.layer = layer, .share = 0.8}};
      plan_.steps.push_back(step);
    }
    for (const LayerKernel& k : run_.kernels) {
      Trace::Kernel kernel{{k.begin_ns, k.end_ns}};
      kernel.step = k.layer;
      kernels_.push_back(kernel);
    }
  }
  std::string failure(std::size_t runs) const {
    try {
      assigned_samples(plan_, run_.samples, kernels_, runs);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }
  SyntheticRun run_{1640 * kMicro, 7 * kMicro};
  Plan plan_;
  std::vector<Trace::Kernel> kernels_;
};

TEST_F(AssignedSamples, StepsAreNamedByTheirMainLayer) {
  const SampledStep step = assigned_samples(plan_, run_.samples, kernels_, 70);
  ASSERT_EQ(step.layers.size(), 3u);
  EXPECT_EQ(step.layers[0].name, "conv");
  EXPECT_EQ(step.layers[1].name, "fc");
  EXPECT_EQ(step.layers[2].name, "between kernels");
  EXPECT_NEAR(step.run_s, 100e-6, 1e-12);
  EXPECT_NEAR(step.layers[0].use.mean.sm, 80, 8) << "samples at the ends are mixed";
  EXPECT_NEAR(step.layers[1].use.mean.tensor, 70, 7);
  EXPECT_EQ(step.points.size(), 200u);
  EXPECT_NE(step.note().find("moved by 1.6"), std::string::npos) << step.note();
}

TEST_F(AssignedSamples, WhatDoesNotFitIsSaid) {
  EXPECT_EQ(failure(70), "");
  EXPECT_NE(failure(69).find("140 kernels were traced in 69 runs"), std::string::npos);
  for (GpuSample& sample : run_.samples) sample.use.sm = 50;
  EXPECT_NE(failure(70).find("do not fit"), std::string::npos);
}

}  // namespace
}  // namespace headroom
