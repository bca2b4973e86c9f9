#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

namespace headroom {
namespace {

using Block = std::array<std::uint32_t, 4>;

// The known answers published with the generator's reference code, philox4x32-10: counter and key all zeros,
// all ones, and the digits of pi.
TEST(Philox, GivesThePublishedAnswers) {
  EXPECT_EQ(Philox(0, 0).block(0), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint64_t kOnes = ~std::uint64_t{0};
  EXPECT_EQ(Philox(kOnes, kOnes).block(kOnes), (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  const Philox pi(0x299f31d0'a4093822, 0x03707344'13198a2e);
  EXPECT_EQ(pi.block(0x85a308d3'243f6a88), (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, BitsWalkThroughTheBlocks) {
  const Philox random(7, 3);
  for (std::uint64_t i = 0; i < 12; ++i) EXPECT_EQ(random.bits(i), random.block(i / 4)[i % 4]) << i;
}

TEST(Philox, SeedStreamAndIndexAllMatter) {
  const Block base = Philox(1, 2).block(3);
  EXPECT_NE(base, Philox(2, 2).block(3));
  EXPECT_NE(base, Philox(1, 3).block(3));
  EXPECT_NE(base, Philox(1, 2).block(4));
  EXPECT_NE(base, Philox(1 | std::uint64_t{1} << 32, 2).block(3)) << "the seed's upper half";
  EXPECT_NE(base, Philox(1, 2 | std::uint64_t{1} << 32).block(3)) << "the stream's upper half";
}

struct Moments {
  double mean = 0, variance = 0, kurtosis = 0;
};

template <class Draw>
Moments moments(int n, Draw draw) {
  Moments m;
  for (int i = 0; i < n; ++i) m.mean += draw(i) / n;
  for (int i = 0; i < n; ++i) m.variance += std::pow(draw(i) - m.mean, 2) / n;
  for (int i = 0; i < n; ++i) m.kurtosis += std::pow(draw(i) - m.mean, 4) / n;
  m.kurtosis /= m.variance * m.variance;
  return m;
}

// Bounds are five deviations of each estimate at this sample size.
TEST(Philox, UniformMoments) {
  constexpr int kN = 200'000;
  const Philox random(11);
  const Moments m = moments(kN, [&](int i) { return random.uniform(static_cast<std::uint64_t>(i)); });
  EXPECT_NEAR(m.mean, 0.5, 5 * std::sqrt(1 / 12.0 / kN));
  EXPECT_NEAR(m.variance, 1 / 12.0, 5 * std::sqrt(1 / 180.0 / kN));
  EXPECT_NEAR(m.kurtosis, 1.8, 0.02);
  for (std::uint64_t i = 0; i < 1000; ++i) {
    EXPECT_GE(random.uniform(i), 0);
    EXPECT_LT(random.uniform(i), 1);
  }
}

TEST(Philox, NormalMoments) {
  constexpr int kN = 200'000;
  const Philox random(12);
  const Moments m = moments(kN, [&](int i) { return random.normal(static_cast<std::uint64_t>(i)); });
  EXPECT_NEAR(m.mean, 0, 5 / std::sqrt(double{kN}));
  EXPECT_NEAR(m.variance, 1, 5 * std::sqrt(2.0 / kN));
  EXPECT_NEAR(m.kurtosis, 3, 5 * std::sqrt(24.0 / kN));
}

// Neighbours come from the two halves of one Box-Muller pair and must not be correlated.
TEST(Philox, NeighbouringNormalsAreIndependent) {
  constexpr int kN = 100'000;
  const Philox random(13);
  double product = 0;
  for (std::uint64_t i = 0; i < kN; ++i) product += random.normal(2 * i) * random.normal(2 * i + 1) / kN;
  EXPECT_NEAR(product, 0, 5 / std::sqrt(double{kN}));
}

TEST(Philox, BelowStaysBelowAndReachesEverything) {
  const Philox random(14);
  constexpr std::uint64_t kN = 10'000, kBound = 10;
  std::vector<int> counts(kBound);
  for (std::uint64_t i = 0; i < kN; ++i) {
    ASSERT_LT(random.below(i, kBound), kBound);
    ++counts[random.below(i, kBound)];
    EXPECT_EQ(random.below(i, 1), 0u);
  }
  double chi = 0;
  for (int count : counts) chi += std::pow(count - 1000.0, 2) / 1000;
  EXPECT_LT(chi, 33.7) << "chi square of 9 degrees exceeds this once in 10,000 draws";
  constexpr std::uint64_t kHuge = (std::uint64_t{1} << 63) + 1;
  bool upper = false;
  for (std::uint64_t i = 0; i < 64; ++i) {
    EXPECT_LT(random.below(i, kHuge), kHuge);
    upper |= random.below(i, kHuge) > kHuge / 2;
  }
  EXPECT_TRUE(upper) << "64 bits of a draw are used, not 32";
}

TEST(StreamOf, KeepsPairsApart) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t a = 0; a < 100; ++a)
    for (std::uint64_t b = 0; b < 100; ++b) seen.insert(stream_of(a, b));
  EXPECT_EQ(seen.size(), 10'000u);
}

}  // namespace
}  // namespace headroom
