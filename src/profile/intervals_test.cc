#include "profile/intervals.h"

#include <gtest/gtest.h>

#include <bitset>
#include <random>

namespace headroom {
namespace {

constexpr std::size_t kGrid = 64;
using Grid = std::bitset<kGrid>;
using List = std::vector<Trace::Interval>;

List random_intervals(std::mt19937& random, int count) {
  std::uniform_int_distribution<std::int64_t> instant(0, kGrid), length(0, 9);
  List list;
  for (int i = 0; i < count; ++i) {
    const std::int64_t begin = instant(random);
    list.push_back({begin, std::min<std::int64_t>(begin + length(random), kGrid)});
  }
  return list;
}

Grid on_grid(const List& list) {
  Grid grid;
  for (const auto& [begin, end] : list)
    for (std::int64_t i = begin; i < end; ++i) grid.set(static_cast<std::size_t>(i));
  return grid;
}

void expect_grid(const IntervalSet& set, const Grid& grid, const char* what) {
  EXPECT_EQ(on_grid(set.list()), grid) << what;
  EXPECT_EQ(set.length_ns(), std::int64_t(grid.count())) << what;
  for (std::size_t i = 0; i < set.list().size(); ++i) {
    EXPECT_LT(set.list()[i].begin_ns, set.list()[i].end_ns) << what;
    EXPECT_TRUE(i == 0 || set.list()[i].begin_ns > set.list()[i - 1].end_ns) << what << ": sorted, apart";
  }
}

TEST(IntervalSet, AgreesWithACountOnAGrid) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 2000; ++trial) {
    const List a = random_intervals(random, trial % 12), b = random_intervals(random, trial % 7);
    const IntervalSet x(a), y(b);
    const Grid p = on_grid(a), q = on_grid(b);
    expect_grid(x, p, "union of one list");
    expect_grid(x | y, p | q, "union");
    expect_grid(x & y, p & q, "intersection");
    expect_grid(x - y, p & ~q, "difference");
    const Trace::Interval window = random_intervals(random, 1)[0];
    expect_grid(x.clipped(window), p & on_grid({window}), "clipped");
    EXPECT_EQ((x - y) | (x & y), x);
    ASSERT_FALSE(HasFailure()) << "trial " << trial;
  }
}

TEST(IntervalSet, CountsOverlapOnceAndIgnoresEmptyOnes) {
  const IntervalSet set(List{{30, 40}, {10, 20}, {15, 25}, {25, 26}, {50, 50}, {60, 55}});
  EXPECT_EQ(set.list(), (List{{10, 26}, {30, 40}}));
  EXPECT_EQ(set.length_ns(), 26);
  EXPECT_DOUBLE_EQ(set.seconds(), 26e-9);
  EXPECT_TRUE(IntervalSet().empty());
  EXPECT_TRUE((IntervalSet() - set).empty());
  EXPECT_EQ(set - IntervalSet(), set);
}

TEST(IntervalSet, TakesEventsOfATrace) {
  std::vector<Trace::Kernel> kernels(2);
  kernels[0].begin_ns = 5, kernels[0].end_ns = 9;
  kernels[1].begin_ns = 8, kernels[1].end_ns = 12;
  EXPECT_EQ(IntervalSet(kernels).length_ns(), 7);
}

}  // namespace
}  // namespace headroom
