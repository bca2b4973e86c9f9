// Sampling a step, with stand-ins for the tracer and the sampler of a GPU.
#include "profile/gpu_sampling.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "plan/testing/small_net.h"

namespace headroom {
namespace {

constexpr std::int64_t kBehind = 3'000'000'000;  // the samples' clock

// A GPU whose clock goes on only while kernels run: step n of a plan takes 20 us + n * 10 us, and uses
// 10 % + n % of the multiprocessors. 5 us lie between two kernels.
struct FakeGpu {
  std::string log;
  std::int64_t now = 0, sampled_from = 0;
  std::vector<Trace::Kernel> kernels;
  std::int64_t interval = 0;

  void run(std::size_t step) {
    Trace::Kernel kernel{{now, now + 20'000 + 10'000 * static_cast<std::int64_t>(step)}};
    kernel.step = static_cast<int>(step);
    now = kernel.end_ns + 5'000;
    kernels.push_back(kernel);
  }
};

class FakeTracer final : public KernelTracer {
 public:
  explicit FakeTracer(FakeGpu& gpu) : gpu_(gpu) {}
  void start() override { gpu_.log += "trace ", gpu_.kernels.clear(); }
  void stop(Trace& trace, std::int64_t, int) override {
    gpu_.log += "end-trace ";
    trace.kernels = gpu_.kernels;
    for (Trace::Kernel& k : trace.kernels) k.begin_ns -= gpu_.sampled_from, k.end_ns -= gpu_.sampled_from;
    std::ranges::reverse(trace.kernels);  // CUPTI delivers them in any order
  }
  void begin(std::size_t step, Stream&) override { gpu_.run(step); }
  void end(std::size_t, Stream&) override {}

 private:
  FakeGpu& gpu_;
};

class FakeSampler final : public GpuSampler {
 public:
  FakeSampler(FakeGpu& gpu, bool fails) : gpu_(gpu), fails_(fails) {}
  ~FakeSampler() override { gpu_.log += "free "; }
  void start() override {
    gpu_.log += "sample ";
    if (fails_) throw Error(Blame::run, "this user may not profile the GPU");
    gpu_.now += 100'000;  // idle
    gpu_.sampled_from = gpu_.now - 1'000;
  }
  void stop() override {
    gpu_.log += "stop ";
    gpu_.now += 100'000;
    overflowed_ = true;
  }
  std::vector<GpuSample> read() override {
    gpu_.log += "read ";
    constexpr std::int64_t kLength = 10'000;
    std::vector<GpuSample> samples;
    auto first = gpu_.kernels.begin();
    for (std::int64_t t = gpu_.sampled_from - 80'000; t < gpu_.now; t += kLength) {
      while (first != gpu_.kernels.end() && first->end_ns <= t) ++first;
      double sm = 0;
      for (auto k = first; k != gpu_.kernels.end() && k->begin_ns < t + kLength; ++k)
        sm +=
            (10.0 + k->step) * double(std::min(k->end_ns, t + kLength) - std::max(k->begin_ns, t)) / kLength;
      const std::int64_t clock = t - gpu_.sampled_from - kBehind;
      samples.push_back({{clock, clock + kLength}, {.sm = sm}});
    }
    return samples;
  }

 private:
  FakeGpu& gpu_;
  bool fails_;
};

class GpuSampling : public ::testing::Test {
 protected:
  GpuSampling() {
    storage_.prepare(net_.graph, 5);
    storage_.set_scalar("rate", 0);
    executor_.bind(net_.images, images_.data());
    executor_.bind(net_.labels, labels_.data());
    executor_.run();
  }
  SampledStep sample(std::int64_t interval_ns, bool fails = false) {
    FakeTracer tracer(gpu_);
    return sample_step(executor_, *device_, interval_ns, tracer, [&](std::int64_t interval) {
      gpu_.interval = interval;
      return std::make_unique<FakeSampler>(gpu_, fails);
    });
  }

  testing::SmallNet net_ = testing::small_net(2);
  std::unique_ptr<Device> device_ = open_device("cpu", 1);
  Storage storage_{*device_};
  Arena arena_{*device_};
  Executor executor_{make_plan(net_.graph, testing::cpu_binding(Mode::train, 2)), storage_, arena_};
  std::vector<float> images_ = std::vector<float>(12);
  std::vector<std::int32_t> labels_ = {0, 1};
  FakeGpu gpu_;
};

TEST_F(GpuSampling, LayersGetTheUseOfTheirKernels) {
  const SampledStep step = sample(20'000);
  EXPECT_NEAR(double(step.shift.ns), double(kBehind), 1500);
  EXPECT_GE(step.runs, 3u);
  EXPECT_LE(step.runs, 400u);
  EXPECT_EQ(step.interval_ns, gpu_.interval);
  EXPECT_TRUE(step.overflowed);
  EXPECT_NE(step.note().find("had no room"), std::string::npos);
  std::map<std::string, double> weighted, seconds;  // by layer
  const Plan& plan = executor_.plan();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const std::string layer = std::ranges::max_element(plan.steps[s].charges, {}, &Charge::share)->layer;
    const double length = 20e-6 + 10e-6 * double(s);
    weighted[layer] += length * (10.0 + double(s)), seconds[layer] += length;
  }
  ASSERT_EQ(step.layers.size(), seconds.size() + 1);
  EXPECT_EQ(step.layers.back().name, "between kernels");
  for (const auto& [name, use] : step.layers) {
    if (name == "between kernels") continue;
    const double expected = weighted.at(name) / seconds.at(name);
    EXPECT_NEAR(use.mean.sm, expected, 0.1 * expected) << name << ": samples at both ends hold idle time";
    EXPECT_NEAR(use.seconds / double(step.runs), seconds.at(name), 1e-9) << name;
  }
}

// CUPTI may not be detached while it samples, and its memory goes with it.
TEST_F(GpuSampling, TheSamplerGoesBeforeTheTraceEnds) {
  sample(20'000);
  EXPECT_EQ(gpu_.log, "trace sample stop read free end-trace ");
}

TEST_F(GpuSampling, AFailureIsTheCallersToTell) {
  EXPECT_THROW(sample(20'000, true), Error);
  EXPECT_EQ(gpu_.log, "trace sample free ");
  FakeTracer tracer(gpu_);
  EXPECT_THROW(sample_step(executor_, *device_, 20'000, tracer), Error) << "a CPU";
}

TEST_F(GpuSampling, MetricsBecomeTheUseOfParts) {
  ASSERT_EQ(sampled_metrics().size(), 6u);
  const UnitUse use = use_of_metrics({50, 40, 30, 20, 6e6, 4e6}, 1e-5);
  EXPECT_EQ(use.sm, 50);
  EXPECT_EQ(use.tensor, 40);
  EXPECT_EQ(use.l2, 30);
  EXPECT_EQ(use.dram, 20);
  EXPECT_NEAR(use.dram_bytes_per_s, 1e12, 1);
}

}  // namespace
}  // namespace headroom
