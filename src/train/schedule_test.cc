#include "train/schedule.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/error.h"

namespace headroom {
namespace {

using Kind = Schedule::Kind;

// The first ten rates of PyTorch 2.5.1's schedulers with a rate of 0.1, in fp64: StepLR(3, 0.5),
// ExponentialLR(0.9), CosineAnnealingLR(8, 0.01), PolynomialLR(8, 2), LinearLR(1/4 to 1 in 3 steps) before a
// constant rate.
struct Golden {
  Schedule schedule;
  std::vector<double> rates;
};

void expect_rates(const Golden& golden) {
  for (std::size_t i = 0; i < golden.rates.size(); ++i)
    EXPECT_NEAR(golden.schedule.at(static_cast<std::int64_t>(i)), golden.rates[i], 1e-15) << "step " << i;
}

TEST(Schedule, Step) {
  expect_rates({{.kind = Kind::step, .base = 0.1, .gamma = 0.5, .period = 3},
                {0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.025, 0.025, 0.025, 0.0125}});
}

TEST(Schedule, Exponential) {
  expect_rates({{.kind = Kind::exponential, .base = 0.1, .gamma = 0.9},
                {0.1, 0.09000000000000001, 0.08100000000000002, 0.07290000000000002, 0.06561000000000002,
                 0.05904900000000002, 0.05314410000000002, 0.04782969000000002, 0.043046721000000024,
                 0.03874204890000002}});
}

TEST(Schedule, Cosine) {
  expect_rates({{.kind = Kind::cosine, .base = 0.1, .least = 0.01, .period = 8},
                {0.1, 0.0965745789630079, 0.08681980515339463, 0.07222075445642905, 0.055,
                 0.03777924554357096, 0.023180194846605363, 0.013425421036992097, 0.01}});
}

TEST(Schedule, Polynomial) {
  expect_rates({{.kind = Kind::polynomial, .base = 0.1, .power = 2, .period = 8},
                {0.1, 0.0765625, 0.05625, 0.03906250000000001, 0.02500000000000001, 0.014062500000000006,
                 0.006250000000000002, 0.0015625000000000005, 0.0, 0.0}});
}

TEST(Schedule, WarmUp) {
  expect_rates(
      {{.base = 0.1, .warmup = 4}, {0.025, 0.05, 0.07500000000000001, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1}});
}

TEST(Schedule, StaysAtItsEnd) {
  EXPECT_EQ((Schedule{.kind = Kind::cosine, .base = 1, .least = 0.25, .period = 4}.at(100)), 0.25);
  EXPECT_EQ((Schedule{.kind = Kind::polynomial, .base = 1, .least = 0.25, .period = 4}.at(100)), 0.25);
}

TEST(Schedule, WarmUpIsPartOfTheWhole) {
  const Schedule s = make_schedule(parse_schedule("cosine"), 0.1, 0.5, 4, 10);
  EXPECT_EQ(s.warmup, 5);
  EXPECT_EQ(s.period, 35);
  EXPECT_DOUBLE_EQ(s.at(0), 0.02);
  EXPECT_DOUBLE_EQ(s.at(4), 0.1);
  EXPECT_DOUBLE_EQ(s.at(5), 0.1);
  EXPECT_NEAR(s.at(40), 0, 1e-15);
}

TEST(Schedule, EpochsBecomeSteps) {
  const Schedule s = make_schedule(parse_schedule("step:every=2,gamma=0.5"), 0.1, 0, 10, 25);
  EXPECT_EQ(s.at(49), 0.1);
  EXPECT_EQ(s.at(50), 0.05);
}

TEST(Schedule, RejectsBadRequests) {
  for (const char* text : {"cosin", "step:every=0", "step:every", "step:gamma=2", "cosine:gamma=0.5", "",
                           "polynomial:power=x", "step:every=nan"})
    EXPECT_THROW(parse_schedule(text), Error) << text;
  EXPECT_THROW(make_schedule(parse_schedule("cosine:min=1"), 0.1, 0, 1, 10), Error);
  EXPECT_THROW(make_schedule({}, 0.1, 2, 1, 10), Error);
}

}  // namespace
}  // namespace headroom
