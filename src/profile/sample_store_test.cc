#include "profile/sample_store.h"

#include <gtest/gtest.h>

#include <cmath>

namespace headroom {
namespace {

SampleStore two_series(std::size_t rows) {
  return SampleStore({{.key = "level"}, {.key = "count", .counter = true}}, rows);
}

TEST(SampleStore, KeepsWhatItIsGiven) {
  SampleStore store = two_series(8);
  for (int i = 0; i < 5; ++i) store.add(0.1 * i, std::vector<double>{double(i), 100.0 + i});
  const Samples samples = store.take();
  EXPECT_EQ(samples.taken, 5);
  ASSERT_EQ(samples.seconds.size(), 5u);
  EXPECT_DOUBLE_EQ(samples.seconds[4], 0.4);
  EXPECT_EQ(samples.series[0].values, (std::vector<double>{0, 1, 2, 3, 4}));
  EXPECT_EQ(samples.series[1].values.back(), 104);
}

TEST(SampleStore, MeansAreWeightedByTime) {
  SampleStore store = two_series(8);
  store.add(0, std::vector<double>{50, 0});
  store.add(1, std::vector<double>{10, 0});
  store.add(4, std::vector<double>{90, 0});
  const SeriesSummary s = store.take().series[0].summary;
  EXPECT_DOUBLE_EQ(s.mean, (1 * 10 + 3 * 90) / 4.0) << "the first reading stands for no time";
  EXPECT_EQ(s.min, 10);
  EXPECT_EQ(s.max, 90);
  EXPECT_EQ(s.first, 50);
  EXPECT_EQ(s.last, 90);
}

TEST(SampleStore, AReadingThatFailedIsAGap) {
  SampleStore store = two_series(8);
  store.add(0, std::vector<double>{kNotRead, 1});
  store.add(1, std::vector<double>{7, kNotRead});
  store.add(2, std::vector<double>{kNotRead, 3});
  const Samples samples = store.take();
  EXPECT_TRUE(std::isnan(samples.series[0].values[2]));
  EXPECT_EQ(samples.series[0].summary.readings, 1);
  EXPECT_EQ(samples.series[0].summary.mean, 7);
  EXPECT_EQ(samples.series[1].summary.last - samples.series[1].summary.first, 2);
}

// A thousand readings in 16 rows: times still span the run, and the summary knows every reading.
TEST(SampleStore, ThinsInsteadOfGrowing) {
  SampleStore store = two_series(16);
  for (int i = 0; i < 1000; ++i)
    store.add(i, std::vector<double>{i == 500 ? 9999.0 : i % 2 == 0 ? 10.0 : 20.0, double(i)});
  const Samples samples = store.take();
  EXPECT_EQ(samples.taken, 1000);
  EXPECT_LE(samples.seconds.size(), 16u);
  EXPECT_GE(samples.seconds.size(), 8u);
  EXPECT_EQ(samples.seconds.back(), 999);
  for (std::size_t i = 1; i < samples.seconds.size(); ++i)
    EXPECT_LT(samples.seconds[i - 1], samples.seconds[i]);
  EXPECT_EQ(samples.series[0].values[0], 15) << "the mean of readings that alternate";
  EXPECT_EQ(samples.series[0].summary.max, 9999);
  EXPECT_EQ(samples.series[0].summary.readings, 1000);
  EXPECT_EQ(samples.series[1].values, samples.seconds) << "a counter keeps its latest value";
}

TEST(SampleStore, TakingLeavesItEmpty) {
  SampleStore store = two_series(4);
  store.add(0, std::vector<double>{1, 1});
  store.take();
  store.add(5, std::vector<double>{2, 2});
  const Samples samples = store.take();
  EXPECT_EQ(samples.taken, 1);
  EXPECT_EQ(samples.seconds, std::vector<double>{5});
}

}  // namespace
}  // namespace headroom
