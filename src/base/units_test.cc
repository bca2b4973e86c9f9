#include "base/units.h"

#include <gtest/gtest.h>

#include <limits>

namespace headroom {
namespace {

TEST(Units, Commas) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1000), "1,000");
  EXPECT_EQ(with_commas(1428376960), "1,428,376,960");
  EXPECT_EQ(with_commas(-61706), "-61,706");
  EXPECT_EQ(with_commas(-100), "-100");
  EXPECT_EQ(with_commas(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Units, ThreeFiguresAndADecimalPrefix) {
  EXPECT_EQ(si(12.3e9, "FLOP/s"), "12.3 GFLOP/s");
  EXPECT_EQ(si(4.8e12, "B/s"), "4.80 TB/s");
  EXPECT_EQ(si(0, "B"), "0 B");
  EXPECT_EQ(si(512, "B"), "512 B");
  EXPECT_EQ(si(-2500, "B"), "-2.50 kB");
  EXPECT_EQ(si(2e18, "B"), "2000 PB") << "the last prefix there is";
  EXPECT_EQ(human_bytes(3'256'400), "3.26 MB");
}

// A carry in rounding must not give a number more digits than its neighbours.
TEST(Units, RoundingThatCarriesKeepsThreeFigures) {
  EXPECT_EQ(si(9.996, "B"), "10.0 B");
  EXPECT_EQ(si(99.96, "B"), "100 B");
  EXPECT_EQ(si(999.4, "B"), "999 B");
  EXPECT_EQ(si(999.6, "B"), "1.00 kB");
  EXPECT_EQ(si(999'600, "B"), "1.00 MB");
}

TEST(Units, Seconds) {
  EXPECT_EQ(human_seconds(12.3e-3), "12.3 ms");
  EXPECT_EQ(human_seconds(250), "4 min 10 s");
  EXPECT_EQ(human_seconds(1), "1.00 s");
  EXPECT_EQ(human_seconds(119), "119 s");
  EXPECT_EQ(human_seconds(2.4e-6), "2.40 us");
  EXPECT_EQ(human_seconds(31e-9), "31.0 ns");
  EXPECT_EQ(human_seconds(0), "0 ns");
}

TEST(Units, SecondsCarryIntoTheNextUnit) {
  EXPECT_EQ(human_seconds(179.7), "3 min 0 s");
  EXPECT_EQ(human_seconds(119.8), "2 min 0 s");
  EXPECT_EQ(human_seconds(0.9996), "1.00 s");
  EXPECT_EQ(human_seconds(0.9996e-3), "1.00 ms");
  EXPECT_EQ(human_seconds(0.9996e-6), "1.00 us");
}

TEST(Units, FixedOrSmall) {
  EXPECT_EQ(fixed_or_small(0), "0");
  EXPECT_EQ(fixed_or_small(12.345678), "12.35");
  EXPECT_EQ(fixed_or_small(1.23456), "1.2346");
  EXPECT_EQ(fixed_or_small(0.0123), "0.0123");
  EXPECT_EQ(fixed_or_small(1.2e-5), "1.20e-05");
  EXPECT_EQ(fixed_or_small(-123456.7), "-123457");
}

// By hand: ranks of 0.1, 0.5 and 0.9 over five samples fall at 0.4, 2 and 3.6.
TEST(Spread, InterpolatesBetweenSortedSamples) {
  const Spread s = spread_of({50, 10, 40, 20, 30});
  EXPECT_DOUBLE_EQ(s.median, 30);
  EXPECT_DOUBLE_EQ(s.p10, 14);
  EXPECT_DOUBLE_EQ(s.p90, 46);
  EXPECT_DOUBLE_EQ(s.min, 10);
  EXPECT_DOUBLE_EQ(s.max, 50);
  EXPECT_DOUBLE_EQ(s.mean, 30);
  EXPECT_EQ(s.samples, 5);
}

TEST(Spread, OfAnEvenNumberOfOneAndOfNone) {
  EXPECT_DOUBLE_EQ(spread_of({4, 1}).median, 2.5);
  EXPECT_DOUBLE_EQ(spread_of({4, 1}).p10, 1.3);
  const Spread one = spread_of({7});
  EXPECT_DOUBLE_EQ(one.median, 7);
  EXPECT_DOUBLE_EQ(one.p10, 7);
  EXPECT_DOUBLE_EQ(one.p90, 7);
  EXPECT_EQ(spread_of({}).samples, 0);
  EXPECT_EQ(spread_of({}).median, 0);
}

TEST(Spread, TheMeanNoticesAnOutlierTheMedianDoesNot) {
  const Spread s = spread_of({1, 1, 1, 1, 101});
  EXPECT_DOUBLE_EQ(s.median, 1);
  EXPECT_DOUBLE_EQ(s.mean, 21);
}

}  // namespace
}  // namespace headroom
