// The sampler is an instrument: it is tested with bodies whose duration and noise are known.
#include "bench/sampler.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

namespace headroom {
namespace {

// A body that claims to take these seconds per run, in turn and again from the start.
TimedBody claims(std::vector<double> seconds, int* calls = nullptr) {
  return [seconds, calls, next = std::size_t{0}](int repeats) mutable -> std::vector<double> {
    if (calls != nullptr) ++*calls;
    return {repeats * seconds[next++ % seconds.size()]};
  };
}

Sampled sampled(const SamplerOptions& options, const TimedBody& body) {
  return sample_in_turn(options, {body}).front();
}

TEST(Sampler, AFixedNumberOfSamplesAfterWarmUps) {
  int calls = 0;
  const Sampled s = sampled({.warm_ups = 3, .min_samples = 4, .max_samples = 4}, claims({2.0}, &calls));
  EXPECT_EQ(calls, 3 + 4);
  EXPECT_EQ(s.samples, 4);
  EXPECT_EQ(s.median, 2.0);
  EXPECT_EQ(s.repeats, 1);
  EXPECT_EQ(s.dropped, 0);
  EXPECT_TRUE(s.settled);
}

TEST(Sampler, ShortBodiesAreRepeatedInOneSample) {
  const Sampled by_time = sampled({.max_samples = 5, .min_sample_seconds = 0.02}, claims({0.001}));
  EXPECT_EQ(by_time.repeats, 20);
  EXPECT_DOUBLE_EQ(by_time.median, 0.001) << "seconds are those of one run";
  EXPECT_EQ(sampled({.max_samples = 5, .min_sample_seconds = 0.02}, claims({1.0})).repeats, 1);
  EXPECT_EQ(sampled({.max_samples = 5, .min_sample_seconds = 9, .repeats = 7}, claims({0.001})).repeats, 7);
}

TEST(Sampler, StopsWhenTheMedianIsSettled) {
  const SamplerOptions options{.warm_ups = 0, .min_samples = 5, .max_samples = 1000, .noise = 0.005};
  EXPECT_EQ(sampled(options, claims({1.0})).samples, 5) << "without noise the fewest samples do";
  // Deviations of 2 and 4 %: a MAD of 2 %, thus 3 % of standard deviation and 3.7 % / sqrt(n) of the median.
  const Sampled noisy = sampled(options, claims({1.00, 1.02, 0.98, 1.04, 0.96}));
  EXPECT_TRUE(noisy.settled);
  EXPECT_GE(noisy.samples, 50);
  EXPECT_LE(noisy.samples, 70);
  const Sampled wild =
      sampled({.warm_ups = 0, .max_samples = 20, .noise = 0.005}, claims({1, 1.4, 0.7, 1.2}));
  EXPECT_EQ(wild.samples, 20);
  EXPECT_FALSE(wild.settled);
}

TEST(Sampler, StopsWhenTimeIsUp) {
  SamplerOptions options{.warm_ups = 0, .min_samples = 3, .max_samples = 1000, .max_seconds = 10};
  EXPECT_EQ(sampled(options, claims({0.5})).samples, 20);
  EXPECT_EQ(sampled(options, claims({60})).samples, 3) << "min_samples are taken, however long they are";
}

TEST(Sampler, DisturbedSamplesAreDroppedAndTakenAgain) {
  const Sampled s =
      sampled({.warm_ups = 0, .min_samples = 10, .max_samples = 10}, claims({1.0, 1.01, 0.99, 5.0, 1.0}));
  EXPECT_EQ(s.samples, 10);
  EXPECT_EQ(s.dropped, 2);
  EXPECT_LT(s.max, 1.1);
  // Far from the median only because the deviation is small: not disturbed. A steady spread is not either.
  EXPECT_EQ(disturbed({1.0, 1.0, 1.0, 1.4}), (std::vector<bool>{false, false, false, false}));
  EXPECT_EQ(disturbed({1.0, 1.5, 2.0, 2.5, 3.1}), (std::vector<bool>(5, false)));
  EXPECT_EQ(disturbed({1.0, 1.0, 1.6}), (std::vector<bool>{false, false, true}));
  // Half of the samples are slow: nobody can know which half is right, and sampling still ends.
  EXPECT_EQ(sampled({.min_samples = 6, .max_samples = 6}, claims({1.0, 9.0})).samples, 6);
}

TEST(Sampler, PartsAreDroppedWithTheirSample) {
  int round = 0;
  const TimedBody body = [&](int) -> std::vector<double> {
    return ++round == 2 ? std::vector<double>{30, 10, 20} : std::vector<double>{3, 1, 2};
  };
  const Sampled s = sampled({.warm_ups = 0, .min_samples = 4, .max_samples = 4}, body);
  EXPECT_EQ(s.dropped, 1);
  ASSERT_EQ(s.parts.size(), 2u);
  EXPECT_EQ(s.parts[0].max, 1);
  EXPECT_EQ(s.parts[1].max, 2);
  EXPECT_EQ(s.parts[1].samples, 4);
}

TEST(Sampler, BodiesTakeTurns) {
  std::string order;
  auto letter = [&](char c) -> TimedBody {
    return [&order, c](int) -> std::vector<double> { return order += c, std::vector<double>{1.0}; };
  };
  SamplerOptions options{.warm_ups = 1, .min_samples = 3, .max_samples = 3};
  std::vector<int> rounds;
  options.progress = [&](int round) { rounds.push_back(round); };
  EXPECT_EQ(sample_in_turn(options, {letter('a'), letter('b')}).size(), 2u);
  EXPECT_EQ(order,
            "ab"
            "ababab");
  EXPECT_EQ(rounds, (std::vector<int>{1, 2, 3}));
  order.clear();
  options.alternate = true;
  sample_in_turn(options, {letter('a'), letter('b')});
  EXPECT_EQ(order,
            "ab"
            "abbaab");
}

TEST(Sampler, NoiseOfAMedian) {
  EXPECT_TRUE(std::isinf(noise_of_median({1.0})));
  EXPECT_EQ(noise_of_median({1.0, 1.0, 1.0}), 0);
  EXPECT_NEAR(noise_of_median({9, 10, 11, 12, 8}), 1.2533 * 1.4826 * 1 / std::sqrt(5.0) / 10, 1e-12);
}

TEST(Sampler, ByTheClockOfADevice) {
  const auto device = open_device("cpu", 1);
  const Sampled s = sample(*device, {.warm_ups = 1, .min_samples = 3, .max_samples = 3, .repeats = 2},
                           [] { std::this_thread::sleep_for(std::chrono::milliseconds(4)); });
  EXPECT_EQ(s.samples, 3);
  EXPECT_GE(s.min, 0.004);
  EXPECT_LT(s.min, 0.1);
}

}  // namespace
}  // namespace headroom
