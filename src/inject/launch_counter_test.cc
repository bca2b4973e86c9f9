// Windows of counted launches, over a counter whose values are known.
#include "inject/launch_counter.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "base/error.h"

namespace headroom::inject {
namespace {

// What the fake GPU sees: every launch is a range, and a counter of a launch is its number.
struct FakeGpu {
  std::vector<double> launched;       // in the open window
  std::vector<std::size_t> windows;   // by pass
  std::vector<std::size_t> sizes;     // of the windows
  int extra_ranges = 0, dropped = 0;  // of every window
  int fails_after = 1000;             // windows
  bool running = false, gone = false;
};

class FakeCounter final : public RangeCounter {
 public:
  FakeCounter(FakeGpu& gpu, CounterPasses passes) : gpu_(gpu), passes_(std::move(passes)) {}
  ~FakeCounter() override { gpu_.gone = true; }
  const CounterPasses& passes() const override { return passes_; }
  void prepare(std::size_t pass, std::size_t, RangeMode mode) override {
    mode_ = mode;
    if (std::ssize(gpu_.windows) >= gpu_.fails_after) throw Error(Blame::run, "the GPU is busy", Hint{});
    gpu_.windows.push_back(pass);
  }
  void start() override { gpu_.running = true, gpu_.launched.clear(); }
  void push(std::size_t) override { EXPECT_EQ(mode_, RangeMode::pushed) << "kernels are ranges already"; }
  void pop() override {  // what was launched is one range
    EXPECT_EQ(mode_, RangeMode::pushed);
    gpu_.launched = {std::accumulate(gpu_.launched.begin(), gpu_.launched.end(), 0.0)};
  }
  bool stop() override {
    gpu_.running = false;
    return true;
  }
  std::vector<RangeValues> read() override {
    dropped_ += static_cast<std::size_t>(gpu_.dropped);
    gpu_.sizes.push_back(gpu_.launched.size());
    std::vector<RangeValues> ranges;
    const std::size_t counters = passes_.passes[gpu_.windows.back()].counters.size();
    for (std::size_t i = gpu_.launched.size(); i-- > 0;)  // in any order
      ranges.push_back({i + 7, std::vector<double>(counters, gpu_.launched[i])});
    for (int i = 0; i < gpu_.extra_ranges; ++i) ranges.push_back({1000, std::vector<double>(counters, 0.5)});
    return ranges;
  }

 private:
  FakeGpu& gpu_;
  CounterPasses passes_;
  RangeMode mode_ = RangeMode::pushed;
};

class LaunchCounters : public ::testing::Test {
 protected:
  void start(std::size_t passes) {
    CounterPasses all{.chip = "chip"};
    for (std::size_t p = 0; p < passes; ++p) all.passes.push_back({.counters = {"cycles"}, .metrics = {"c"}});
    start(all);
  }
  void start(const CounterPasses& passes) {
    counter = std::make_unique<LaunchCounter>(std::make_unique<FakeCounter>(gpu, passes), mutex, aggregator,
                                              [this] { return seconds; });
  }
  void launch(const std::string& kernel, double value, const std::string& range = "", int blocks = 1) {
    counter->launch({kernel, range, {.grid = {blocks, 1, 1}, .block = {32, 1, 1}}});
    if (gpu.running) gpu.launched.push_back(value);
    seconds += gpu.running ? counted_launch_s : 1e-3;
  }
  // The sum of a counter over all launches of a kernel.
  double sum(const std::string& kernel, const std::string& key) const {
    const ProcessRecord r = aggregator.record();
    double total = 0;
    for (std::size_t row = 0; row < r.counted.size(); ++row)
      for (std::size_t c = 0; c < r.counters.size(); ++c)
        if (r.names[r.counted[row].name] == kernel && r.counters[c] == key)
          total += r.counts[row * r.counters.size() + c];
    return total;
  }
  bool noted(const std::string& part) const {
    for (const std::string& note : aggregator.record().notes)
      if (note.find(part) != std::string::npos) return true;
    return false;
  }

  FakeGpu gpu;
  double seconds = 0, counted_launch_s = 1e-5;
  std::mutex mutex;
  Aggregator aggregator;
  std::unique_ptr<LaunchCounter> counter;
};

TEST_F(LaunchCounters, ALaunchHasItsOwnValues) {
  start(1);
  for (int i = 0; i < 10; ++i) launch("a", 3, "step"), launch("b", 5, "", 4);
  counter->finish();
  EXPECT_EQ(sum("a", "1:cycles"), 30);
  EXPECT_EQ(sum("b", "1:cycles"), 50);
  EXPECT_EQ(sum("b", "1:launches"), 10);
  const ProcessRecord r = aggregator.record();
  ASSERT_EQ(r.counted.size(), 2u);
  EXPECT_EQ(r.names[r.counted[0].range - 1], "step");
  EXPECT_EQ(r.counted[1].range, 0u);
  EXPECT_EQ(r.counted[1].grid[0], 4);
  EXPECT_EQ(r.header.counting.launches, 20);
  EXPECT_EQ(r.header.counting.counted, 20);
  EXPECT_TRUE(gpu.gone) << "the counters are given back";
}

TEST_F(LaunchCounters, WindowsAreSmallThenLarge) {
  start(2);
  for (int i = 0; i < 6000; ++i) launch("a", 1);
  counter->finish();
  ASSERT_GT(gpu.sizes.size(), 3u);
  EXPECT_EQ(gpu.sizes[0], LaunchCounter::kFirstLaunches);
  EXPECT_EQ(gpu.sizes[1], LaunchCounter::kFirstLaunches);
  EXPECT_EQ(gpu.sizes[2], LaunchCounter::kLaunches);
  EXPECT_EQ(aggregator.record().header.counting.launches, 6000);
}

// A window of 400 takes two seconds here, as many launches without one 0.4 s.
TEST_F(LaunchCounters, TheProgramRunsWithoutMostOfTheTime) {
  counted_launch_s = 5e-3;
  start(1);
  for (int i = 0; i < 500'000; ++i) launch("a", 1);
  counter->finish();
  double counted = 0;
  for (const std::size_t size : gpu.sizes) counted += counted_launch_s * double(size);
  EXPECT_GT(counted, LaunchCounter::kDenseSeconds);
  EXPECT_NEAR(counted / seconds, LaunchCounter::kShare, 0.02);
}

TEST_F(LaunchCounters, EveryPassHasAWindow) {
  counted_launch_s = 1;
  start(4);
  for (int i = 0; i < 1000; ++i) launch("a", 1);
  counter->finish();
  for (const char* key : {"1:launches", "2:launches", "3:launches", "4:launches"})
    EXPECT_GT(sum("a", key), 0) << key;
}

TEST_F(LaunchCounters, WindowsWithAddedInstructionsAreSmall) {
  CounterPasses all{.chip = "chip"};
  all.passes.push_back({.counters = {"fma"}, .metrics = {"smsp__sass_thread_inst.sum"}});
  start(all);
  for (int i = 0; i < 500; ++i) launch("a", 1);
  counter->finish();
  ASSERT_EQ(gpu.sizes.size(), 10u);
  for (const std::size_t size : gpu.sizes) EXPECT_EQ(size, LaunchCounter::kInstrumentedLaunches);
}

// Steps as long as two windows must not tie a pass to a half of the step.
TEST_F(LaunchCounters, EveryKernelMeetsEveryPass) {
  start(2);
  for (std::size_t i = 0; i < 2 * LaunchCounter::kFirstLaunches; ++i) launch("start", 1);
  constexpr std::size_t kWindows = 16;
  for (std::size_t window = 2; window < kWindows; ++window)
    for (std::size_t i = 0; i < LaunchCounter::kLaunches; ++i)
      launch("half " + std::to_string(window % 2), 1);
  counter->finish();
  ASSERT_EQ(gpu.windows.size(), kWindows);
  for (const char* kernel : {"half 0", "half 1"})
    for (const char* key : {"1:launches", "2:launches"}) EXPECT_GT(sum(kernel, key), 0) << kernel << key;
}

TEST_F(LaunchCounters, ExchangesAndCapturesCloseTheWindow) {
  start(1);
  launch("a", 1);
  counter->exchange();
  EXPECT_FALSE(gpu.running);
  launch("a", 1);
  counter->pause();
  EXPECT_FALSE(gpu.running);
  counter->finish();
  EXPECT_EQ(sum("a", "1:launches"), 2);
  EXPECT_EQ(aggregator.record().header.counting.exchanges, 1);
  EXPECT_EQ(gpu.windows.size(), 2u);
}

TEST_F(LaunchCounters, AGraphCountsAsAWhole) {
  start(1);
  launch("a", 1);
  counter->graph("step");
  gpu.launched = {2, 3, 4};  // its kernels
  launch("a", 1);
  counter->finish();
  EXPECT_EQ(sum(kWholeGraph, "1:cycles"), 9);
  EXPECT_EQ(sum(kWholeGraph, "1:launches"), 1);
  EXPECT_EQ(sum("a", "1:launches"), 2);
}

TEST_F(LaunchCounters, WindowsThatDoNotMatchAreLeftOut) {
  start(1);
  gpu.extra_ranges = 1;
  launch("a", 1);
  counter->pause();
  EXPECT_TRUE(noted("CUPTI has 2 ranges for 1 launches"));
  gpu.extra_ranges = 0, gpu.dropped = 1;
  launch("a", 1);
  counter->pause();
  EXPECT_TRUE(noted("no room for all kernels"));
  gpu.dropped = 0;
  launch("a", 1);
  counter->spoil();
  counter->pause();
  EXPECT_TRUE(noted("two threads"));
  launch("a", std::numeric_limits<double>::quiet_NaN());
  counter->finish();
  EXPECT_EQ(sum("a", "1:launches"), 0);
  EXPECT_EQ(aggregator.record().header.counting.lost_windows, 3);
}

TEST_F(LaunchCounters, AnErrorEndsTheCountingOnly) {
  start(1);
  gpu.fails_after = 1;
  for (int i = 0; i < 1000; ++i) launch("a", 1);
  counter->finish();
  EXPECT_TRUE(noted("counting ended after 1 windows: the GPU is busy"));
  EXPECT_EQ(sum("a", "1:launches"), LaunchCounter::kFirstLaunches) << "what was counted stays";
}

TEST_F(LaunchCounters, NothingIsReplayed) {
  CounterPasses all{.chip = "chip"};
  all.passes = {{.counters = {"tensor-fp16"}, .metrics = {"t"}, .runs = 2},
                {.counters = {"cycles"}, .metrics = {"c"}}};
  all.missing = {"bulk-read"};
  start(all);
  launch("a", 4);
  counter->finish();
  EXPECT_TRUE(noted("no tensor-fp16: it takes more than one run"));
  EXPECT_TRUE(noted("no bulk-read: chip does not count it"));
  EXPECT_EQ(aggregator.record().counters, (std::vector<std::string>{"2:launches", "2:cycles"}));
  EXPECT_EQ(sum("a", "2:cycles"), 4);
}

}  // namespace
}  // namespace headroom::inject
