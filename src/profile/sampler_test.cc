#include "profile/sampler.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>

#include "device/device.h"
#include "profile/nvml_source.h"
#include "profile/proc_sources.h"

namespace headroom {
namespace {

void wait_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

template <class... Sources>
std::vector<std::unique_ptr<SampleSource>> list_of(Sources... sources) {
  std::vector<std::unique_ptr<SampleSource>> list;
  (list.push_back(std::move(sources)), ...);
  return list;
}

const Series* find(const Samples& samples, const std::string& key) {
  const auto it = std::ranges::find_if(samples.series, [&](const Series& s) { return s.info.key == key; });
  return it == samples.series.end() ? nullptr : &*it;
}

// Counts its readings; every third one fails.
class Counting : public SampleSource {
 public:
  std::vector<SeriesInfo> series() const override { return {{.key = "reading"}, {.key = "seconds"}}; }
  void read(double seconds, std::span<double> values) override {
    if (++count_ % 3 == 0) throw std::runtime_error("unplugged");
    values[0] = count_, values[1] = seconds;
  }

 private:
  int count_ = 0;
};

TEST(MachineSampler, ReadsFromStartToStop) {
  MachineSampler sampler(list_of(std::make_unique<Counting>()), 0.01);
  wait_ms(200);
  const Samples samples = sampler.stop();
  ASSERT_GE(samples.taken, 4) << "a busy machine may skip ticks, but not nearly all";
  EXPECT_LE(samples.taken, 120);
  EXPECT_EQ(samples.interval_s, 0.01);
  EXPECT_GE(samples.seconds.back(), 0.19) << "the last sample is taken at the stop";
  EXPECT_EQ(samples.series[0].values[0], 1);
  EXPECT_TRUE(std::isnan(samples.series[0].values[2])) << "the third reading fails";
  EXPECT_EQ(samples.series[0].values[3], 4) << "and the next one does not";
  EXPECT_NEAR(samples.series[1].values[1], samples.seconds[1], 0.05) << "one clock for all";
  EXPECT_GT(samples.cost_s, 0);
}

TEST(MachineSampler, MayBeDestroyedWithoutStop) {
  MachineSampler sampler(list_of(std::make_unique<Counting>()), 10);
}

TEST(MachineSampler, SeesTheCoresAndTheMemoryOfThisMachine) {
  MachineSampler sampler(list_of(machine_source()), 0.1);
  wait_ms(350);
  const Samples samples = sampler.stop();
  const Series* busy = find(samples, "cpu_busy_percent");
  const Series* memory = find(samples, "memory_used_mb");
  ASSERT_TRUE(busy != nullptr && memory != nullptr);
  EXPECT_GT(busy->summary.readings, 0);
  EXPECT_GE(busy->summary.min, 0);
  EXPECT_LE(busy->summary.max, 100);
  EXPECT_GT(memory->summary.min, 1) << "MB";
  EXPECT_TRUE(std::ranges::any_of(samples.series, [](const Series& s) { return s.info.per_core; }));
}

// The child's own share of the cores depends on what else runs here; the CPU time that the kernel billed it
// does not.
TEST(MachineSampler, SeesAProcessAndItsChildren) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::fork();  // two processes that compute
    for (std::atomic<unsigned> turns = 0;;) ++turns;
  }
  const auto begin = std::chrono::steady_clock::now();
  MachineSampler sampler(list_of(process_source(child)), 0.1);
  wait_ms(1000);
  const std::vector<ProcessState> tree = process_tree(child);
  const Samples samples = sampler.stop();
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::int64_t ticks = 0;
  for (const ProcessState& process : tree) {
    ticks += process.ticks;
    ::kill(process.pid, SIGKILL);
  }
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(tree.size(), 2u);
  const double billed = 100.0 * double(ticks) / double(::sysconf(_SC_CLK_TCK)) / wall;
  EXPECT_NEAR(find(samples, "command_cpu_percent")->summary.mean, billed, 15 + 0.1 * billed);
  EXPECT_GT(find(samples, "command_memory_mb")->summary.max, 0.1);
  EXPECT_TRUE(process_tree(child).empty());
}

TEST(NvmlSource, NamesWhatIsMissing) {
  const auto source = nvml_source();
  EXPECT_EQ(source->series().empty(), !source->absent().empty());
  for (const std::string& text : source->absent()) EXPECT_TRUE(text.starts_with("GPUs: ")) << text;
}

TEST(CudaNvmlSource, ReadsThePhysicsOfAGpu) {
  const GpuSurvey survey = survey_gpus();
  if (survey.gpus.empty()) GTEST_SKIP() << "no GPU here: " << survey.why_not;
  MachineSampler sampler(list_of(nvml_source()), 0.1);
  wait_ms(1000);
  const Samples samples = sampler.stop();
  ASSERT_TRUE(samples.absent.empty()) << samples.absent.front();
  const auto summary = [&](const char* key) { return find(samples, key)->summary; };
  EXPECT_GT(summary("gpu0_power_w").mean, 5);
  EXPECT_LT(summary("gpu0_power_w").mean, 2000);
  EXPECT_GT(summary("gpu0_sm_mhz").max, 100);
  EXPECT_GT(summary("gpu0_memory_used_mb").max, 0);
  EXPECT_GT(summary("gpu0_temperature_c").max, 5);
  EXPECT_LE(summary("gpu0_busy_percent").max, 100);
  // Joules over a second are about the mean power in watts; both change every 100 ms.
  const double joules = summary("gpu0_energy_j").last - summary("gpu0_energy_j").first;
  EXPECT_NEAR(joules, summary("gpu0_power_w").mean, 0.4 * summary("gpu0_power_w").mean);
}

}  // namespace
}  // namespace headroom
