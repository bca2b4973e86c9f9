// The instrument itself: samples of known distributions, and how often each verdict falls.
#include "report/change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "base/random.h"

namespace headroom {
namespace {

constexpr int kPairs = 1000;

using Draw = std::function<double(const Philox&, std::uint64_t index)>;

Draw normal(double median, double noise) {
  return [=](const Philox& random, std::uint64_t i) { return median * (1 + noise * random.normal(i)); };
}

// As real times are: never below a minimum, with a long tail of disturbed samples.
Draw skewed(double median, double noise) {
  return [=](const Philox& random, std::uint64_t i) {
    return median * std::exp(noise * random.normal(2 * i)) * (random.uniform(2 * i + 1) < 0.05 ? 3 : 1);
  };
}

std::vector<double> samples(const Draw& draw, std::size_t count, std::uint64_t stream) {
  const Philox random(7, stream);
  std::vector<double> list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(draw(random, i));
  return list;
}

// The share of each verdict over many pairs of runs.
std::map<Change, double> shares(const Draw& before, const Draw& after, std::size_t count) {
  std::map<Change, double> share;
  for (std::uint64_t pair = 0; pair < kPairs; ++pair)
    share[judge(median_interval(samples(before, count, 2 * pair)),
                median_interval(samples(after, count, 2 * pair + 1)))] += 1.0 / kPairs;
  return share;
}

TEST(Change, EqualRunsAreRarelyCalledDifferent) {
  for (const std::size_t count : {6u, 7u, 10u, 20u, 64u, 200u})
    for (const double noise : {0.01, 0.05, 0.2})
      for (const auto& make : {normal, skewed}) {
        auto share = shares(make(1e-3, noise), make(1e-3, noise), count);
        EXPECT_LT(share[Change::faster] + share[Change::slower], 0.02) << count << " samples, " << noise;
      }
}

TEST(Change, EqualRunsWithLittleNoiseAreTheSame) {
  EXPECT_GT(shares(normal(1e-3, 0.01), normal(1e-3, 0.01), 64)[Change::same], 0.98);
  EXPECT_GT(shares(normal(1e-3, 0.005), normal(1e-3, 0.005), 20)[Change::same], 0.98);
}

TEST(Change, AShiftOfFivePercentIsFound) {
  for (const std::size_t count : {10u, 20u, 64u}) {
    EXPECT_GT(shares(normal(1e-3, 0.01), normal(1.05e-3, 0.01), count)[Change::slower], 0.97) << count;
    EXPECT_GT(shares(normal(1.05e-3, 0.01), normal(1e-3, 0.01), count)[Change::faster], 0.97) << count;
  }
  EXPECT_GT(shares(skewed(1e-3, 0.01), skewed(1.05e-3, 0.01), 64)[Change::slower], 0.97);
}

TEST(Change, AShiftWithinTheNoiseIsNeitherFoundNorDenied) {
  EXPECT_GT(shares(normal(1e-3, 0.2), normal(1.03e-3, 0.2), 10)[Change::unsure], 0.95);
}

TEST(Change, ARealButTinyDifferenceIsTheSame) {
  EXPECT_GT(shares(normal(1e-3, 0.001), normal(1.01e-3, 0.001), 64)[Change::same], 0.99);
  EXPECT_GT(shares(normal(1e-3, 0.001), normal(1.03e-3, 0.001), 64)[Change::slower], 0.99);
}

// The extended intervals are apart, but runs of one program differ by that much.
TEST(Change, ADifferenceBelowTwoPercentIsNeverSlower) {
  auto share = shares(normal(1e-3, 0.005), normal(1.014e-3, 0.005), 20);
  EXPECT_LT(share[Change::slower], 0.01);
  EXPECT_GT(share[Change::unsure], 0.1) << "some far ends are more than 2 % apart";
}

TEST(Change, FiveSamplesAreTooFew) {
  for (std::size_t count = 0; count < 6; ++count) {
    const MedianInterval few = median_interval(samples(normal(1, 0.001), count, 0));
    EXPECT_FALSE(few.known()) << count;
    EXPECT_EQ(judge(few, median_interval(samples(normal(2, 0.001), 64, 1))), Change::unsure) << count;
    EXPECT_EQ(judge(median_interval(samples(normal(2, 0.001), 64, 1)), few), Change::unsure) << count;
  }
  EXPECT_TRUE(median_interval({1, 2, 3, 4, 5, 6}).known());
}

// Ranks from tables of the sign test: n = 6: 1, n = 9: 2, n = 20: 6, n = 64: 24.
TEST(Change, BoundsAreOrderStatistics) {
  const std::map<std::size_t, std::size_t> ranks = {{6, 1}, {8, 1}, {9, 2}, {20, 6}, {64, 24}};
  for (const auto& [count, rank] : ranks) {
    std::vector<double> numbers(count);
    for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<double>(i + 1);
    const MedianInterval interval = median_interval(numbers);
    EXPECT_EQ(interval.low, static_cast<double>(rank)) << count;
    EXPECT_EQ(interval.high, static_cast<double>(count + 1 - rank)) << count;
  }
}

// A run that was disturbed for a quarter of its time is not evidence of a slower program, although more than
// half of its samples are clearly above those of the other.
TEST(Change, ARunThatDriftsIsNotSure) {
  const auto drifting = [](double quiet, std::uint64_t stream) {
    std::vector<double> list = samples(normal(1e-3, 0.002), 64, stream);
    for (std::size_t i = 0; i < 16; ++i) list[i] *= quiet;
    return median_interval(list);
  };
  const MedianInterval steady = median_interval(samples(normal(0.9e-3, 0.002), 64, 1));
  EXPECT_EQ(judge(steady, drifting(1, 0)), Change::slower);
  EXPECT_EQ(judge(steady, drifting(0.9, 0)), Change::unsure);
}

// Neighbouring samples resemble each other, as on a busy machine: the noise is a slow random walk.
TEST(Change, SamplesThatDependOnEachOtherAreRarelyCalledDifferent) {
  const auto walk = [](std::uint64_t stream) {
    const Philox random(11, stream);
    std::vector<double> list;
    double level = 0.1 * random.normal(1000);
    for (std::uint64_t i = 0; i < 64; ++i) {
      level = 0.8 * level + 0.06 * random.normal(i);
      list.push_back(1e-3 * (1 + level));
    }
    return median_interval(list);
  };
  int wrong = 0;
  for (std::uint64_t pair = 0; pair < kPairs; ++pair) {
    const Change change = judge(walk(2 * pair), walk(2 * pair + 1));
    wrong += change == Change::faster || change == Change::slower;
  }
  EXPECT_LT(wrong, 0.02 * kPairs);
}

TEST(Change, ThousandsOfSamplesDoNotOverflow) {
  const MedianInterval many = median_interval(samples(normal(1, 0.1), 20000, 3));
  EXPECT_TRUE(many.known());
  EXPECT_LT(many.high - many.low, 0.01);
}

}  // namespace
}  // namespace headroom
