// Products of bf16 by every version of the inner loop that this processor has.
#include "ops/cpu/bf16_gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/half.h"
#include "base/random.h"

namespace headroom {
namespace cpu_bf16_gemm_test {

constexpr int kGuard = 64;
constexpr float kUntouched = 7;

struct Call {
  bool ta = false, tb = false;
  std::int64_t m = 1, n = 1, k = 1;
  float alpha = 1, beta = 0;
  std::int64_t gap = 0;  // elements between rows that belong to nobody
};

std::vector<float> integers(std::int64_t count, std::uint64_t seed) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(static_cast<int>(Philox(seed).bits(i) % 9) - 4);
  return values;
}

struct Matrices {
  explicit Matrices(const Call& r)
      : lda((r.ta ? r.m : r.k) + r.gap),
        ldb((r.tb ? r.k : r.n) + r.gap),
        ldc(r.n + r.gap),
        a(integers((r.ta ? r.k : r.m) * lda, 1)),
        b(integers((r.tb ? r.n : r.k) * ldb, 2)),
        c(static_cast<std::size_t>(r.m * ldc + 2 * kGuard), kUntouched) {}
  float at_a(const Call& r, std::int64_t i, std::int64_t l) const {
    return a[static_cast<std::size_t>(r.ta ? l * lda + i : i * lda + l)];
  }
  float at_b(const Call& r, std::int64_t l, std::int64_t j) const {
    return b[static_cast<std::size_t>(r.tb ? j * ldb + l : l * ldb + j)];
  }
  float* result() { return c.data() + kGuard; }
  std::int64_t lda, ldb, ldc;
  std::vector<float> a, b, c;
};

std::vector<bf16::Version> all_versions() {
  std::vector<bf16::Version> all(bf16::versions().begin(), bf16::versions().end());
  if (bf16::exact() != nullptr) all.push_back(*bf16::exact());
  return all;
}

void multiply(const bf16::Version& version, const Call& r, Matrices& x, const AfterGemm<float>& after = {}) {
  Bf16Product p{.m = r.m, .n = r.n, .k = r.k, .a = {}, .b = {}, .to = {.c = x.result(), .ldc = x.ldc}};
  p.alpha = r.alpha, p.beta = r.beta;
  p.a.data = x.a.data(), p.b.data = x.b.data();
  (r.ta ? p.a.term_step : p.a.line_step) = x.lda;
  (r.tb ? p.b.line_step : p.b.term_step) = x.ldb;
  bf16_gemm(version, p, after);
}

void round_all(std::vector<float>& values) {
  for (float& v : values) v = static_cast<float>(half_value(DType::bf16, half_bits(DType::bf16, double{v})));
}

// What c should be, with what stands around and between its rows: factors rounded to bf16 unless they are
// split in parts, the rest in fp64.
std::vector<double> by_hand(const Call& r, Matrices x, int parts = 1) {
  if (parts == 1) round_all(x.a), round_all(x.b);
  std::vector<double> all(x.c.begin(), x.c.end()), sums(static_cast<std::size_t>(r.n));
  for (std::int64_t i = 0; i < r.m; ++i) {
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::int64_t l = 0; l < r.k; ++l)
      for (std::int64_t j = 0; j < r.n; ++j)
        sums[static_cast<std::size_t>(j)] += double{x.at_a(r, i, l)} * double{x.at_b(r, l, j)};
    for (std::int64_t j = 0; j < r.n; ++j) {
      double& c = all[static_cast<std::size_t>(kGuard + i * x.ldc + j)];
      c = double{r.alpha} * sums[static_cast<std::size_t>(j)] + (r.beta == 0 ? 0 : double{r.beta} * c);
    }
  }
  return all;
}

// Small integers: every sum is exact, so every order of adding gives the same bits.
void expect_exact(const bf16::Version& version, const Call& r) {
  Matrices x(r);
  const std::vector<double> want = by_hand(r, x);
  multiply(version, r, x);
  EXPECT_EQ(std::vector<double>(x.c.begin(), x.c.end()), want)
      << version.name << ": " << r.m << " x " << r.n << " x " << r.k << " ta " << r.ta << " tb " << r.tb
      << " beta " << r.beta;
}

class Bf16Gemm : public ::testing::Test {
 protected:
  void SetUp() override {
    if (bf16::versions().empty()) GTEST_SKIP() << "this processor has no instructions for bf16";
  }
};

TEST_F(Bf16Gemm, OddExtentsAreExact) {
  for (const bf16::Version& version : all_versions())
    for (const std::int64_t m : {1, 15, 16, 17, 31, 33, 65})
      for (const std::int64_t n : {1, 15, 16, 17, 31, 33, 63, 65})
        for (const std::int64_t k : {1, 2, 3, 15, 31, 32, 33, 63, 65}) {
          const int t = static_cast<int>((m + n + k) % 4);
          expect_exact(version, {.ta = (t & 1) != 0, .tb = (t & 2) != 0, .m = m, .n = n, .k = k, .gap = t});
        }
}

// Past every block, with sums that wait between runs of terms.
TEST_F(Bf16Gemm, LargeExtentsAreExact) {
  for (const bf16::Version& version : all_versions())
    for (int t = 0; t < 4; ++t) {
      Call r{.ta = (t & 1) != 0, .tb = (t & 2) != 0, .alpha = 2, .beta = 3, .gap = 5};
      r.m = 781, r.n = 67, r.k = 5;
      expect_exact(version, r);
      r.m = 35, r.n = 300, r.k = 1100;
      expect_exact(version, r);
      r.m = 33, r.n = 40, r.k = 4200, r.beta = 0;
      expect_exact(version, r);
      r.m = 5, r.n = 3100, r.k = 9, r.alpha = 1;
      expect_exact(version, r);
    }
}

TEST_F(Bf16Gemm, FactorsAreRoundedToTheNearest) {
  for (const bf16::Version& version : bf16::versions())
    for (const std::int64_t k : {1, 37, 700, 2100}) {
      const Call r{.ta = k == 37, .tb = k == 700, .m = 37, .n = 35, .k = k};
      Matrices x(r);
      for (std::size_t i = 0; i < x.a.size(); ++i) x.a[i] = static_cast<float>(Philox(5).normal(i));
      for (std::size_t i = 0; i < x.b.size(); ++i) x.b[i] = static_cast<float>(Philox(6).normal(i));
      const std::vector<double> want = by_hand(r, x);
      multiply(version, r, x);
      const double allowed = 4 * std::ldexp(1, -24) * static_cast<double>(k);  // of the fp32 sums alone
      double worst = 0;
      for (std::size_t i = 0; i < want.size(); ++i)
        worst = std::max(worst, std::abs(double{x.c[i]} - want[i]) / allowed);
      EXPECT_LE(worst, 1) << version.name << ", " << k << " terms";
    }
}

// Together, parts of factors are as exact as sums of fp32 in order, of both signs and of one.
TEST_F(Bf16Gemm, PartsAreAsExactAsFp32) {
  if (bf16::exact() == nullptr) GTEST_SKIP() << "this processor has no AMX";
  for (const bool positive : {false, true})
    for (const std::int64_t k : {1, 40, 784, 2100}) {
      const Call r{.m = 40, .n = 48, .k = k};
      Matrices x(r);
      const auto number = [&](std::uint64_t seed, std::size_t i) {
        const auto v = static_cast<float>(Philox(seed).normal(i));
        return positive ? std::abs(v) : v;
      };
      for (std::size_t i = 0; i < x.a.size(); ++i) x.a[i] = number(5, i);
      for (std::size_t i = 0; i < x.b.size(); ++i) x.b[i] = number(6, i);
      const std::vector<double> want = by_hand(r, x, bf16::kParts);
      multiply(*bf16::exact(), r, x);
      double error = 0, in_order = 0;
      for (std::int64_t i = 0; i < r.m; ++i)
        for (std::int64_t j = 0; j < r.n; ++j) {
          float sum = 0;
          for (std::int64_t l = 0; l < k; ++l) sum += x.at_a(r, i, l) * x.at_b(r, l, j);
          const double right = want[static_cast<std::size_t>(kGuard + i * r.n + j)];
          error += std::pow(double{x.result()[i * r.n + j]} - right, 2);
          in_order += std::pow(double{sum} - right, 2);
        }
      const double most = k == 1 ? 1.1 : 1;  // one term: both round it once
      EXPECT_LE(std::sqrt(error / in_order), most) << k << " terms, positive " << positive;
    }
}

// An infinity has no second part: its row of results is NaN, all others are as they were.
TEST_F(Bf16Gemm, AnInfinityInPartsSpoilsItsOwnRowAlone) {
  if (bf16::exact() == nullptr) GTEST_SKIP() << "this processor has no AMX";
  const Call r{.m = 20, .n = 18, .k = 40};
  Matrices x(r), y(r);
  y.a[static_cast<std::size_t>(3 * x.lda + 7)] = std::numeric_limits<float>::infinity();
  multiply(*bf16::exact(), r, x), multiply(*bf16::exact(), r, y);
  for (std::int64_t i = 0; i < r.m; ++i)
    for (std::int64_t j = 0; j < r.n; ++j) {
      const float before = x.result()[i * r.n + j], now = y.result()[i * r.n + j];
      EXPECT_TRUE(i == 3 ? std::isnan(now) : now == before) << i << ", " << j;
    }
}

TEST_F(Bf16Gemm, BetaOfZeroReadsNoC) {
  for (const bf16::Version& version : all_versions())
    for (const std::int64_t k : {0, 5, 2100}) {
      const Call r{.m = 13, .n = 70, .k = k};
      Matrices x(r);
      const std::vector<double> want = by_hand(r, x);
      std::fill_n(x.result(), r.m * r.n, std::numeric_limits<float>::quiet_NaN());
      multiply(version, r, x);
      EXPECT_EQ(std::vector<double>(x.c.begin(), x.c.end()), want) << k;
    }
}

TEST_F(Bf16Gemm, EveryElementIsFinishedOnce) {
  for (const bf16::Version& version : all_versions())
    for (const std::int64_t k : {0, 3, 2500}) {
      const Call r{.m = 51, .n = 133, .k = k};
      Matrices x(r);
      std::vector<double> want = by_hand(r, x);
      for (std::int64_t i = 0; i < r.m * r.n; ++i)
        want[static_cast<std::size_t>(kGuard + i)] += static_cast<double>(1 + i);
      multiply(version, r, x, [&](std::int64_t row, std::int64_t column, std::int64_t columns, float* c) {
        for (std::int64_t j = 0; j < columns; ++j) c[j] += static_cast<float>(1 + row * r.n + column + j);
      });
      EXPECT_EQ(std::vector<double>(x.c.begin(), x.c.end()), want) << k;
    }
}

// Columns of several matrices side by side, whose borders lie within tiles.
TEST_F(Bf16Gemm, ColumnsOfSeveralPlanes) {
  for (const bf16::Version& version : all_versions())
    for (const std::int64_t plane : {1, 7, 32, 49, 100}) {
      const Call r{.m = 37, .n = 4 * plane, .k = 600};
      Matrices x(r);
      const std::vector<double> flat = by_hand(r, x);
      Bf16Product p{.m = r.m, .n = r.n, .k = r.k, .a = {}, .b = {}, .to = {}};
      p.a = {.data = x.a.data(), .line_step = x.lda, .term_step = 1};
      p.b = {.data = x.b.data(), .line_step = 1, .term_step = x.ldb};
      p.to = {.c = x.result(), .ldc = plane, .plane = plane, .plane_step = r.m * plane};
      bf16_gemm(version, p);
      for (std::int64_t i = 0; i < r.m; ++i)
        for (std::int64_t j = 0; j < r.n; ++j)
          ASSERT_EQ(double{x.result()[j / plane * r.m * plane + i * plane + j % plane]},
                    flat[static_cast<std::size_t>(kGuard + i * r.n + j)])
              << version.name << ", planes of " << plane << " at " << i << ", " << j;
    }
}

// Numbers that round: any other order of adding would show.
TEST_F(Bf16Gemm, BitsAreTheSameOn1To3Threads) {
  const int before = omp_get_max_threads();
  for (const bf16::Version& version : all_versions())
    for (const bool t : {false, true})
      for (const Call& shape : {Call{.m = 700, .n = 300, .k = 400}, {.m = 33, .n = 900, .k = 2300}}) {
        Call r = shape;
        r.ta = r.tb = t, r.alpha = 0.3F, r.beta = 0.7F;
        Matrices numbers(r);
        for (float& v : numbers.a) v = v / 3 + 0.01F;
        std::vector<float> one;
        for (const int threads : {1, 2, 3}) {
          omp_set_num_threads(threads);
          Matrices y = numbers;
          multiply(version, r, y);
          if (threads == 1) one = y.c;
          EXPECT_EQ(y.c, one) << version.name << ", " << threads << " threads";
        }
      }
  omp_set_num_threads(before);
}

TEST(Bf16Tile, AProcessorIsAskedForWhatItHas) {
  for (const bf16::Version& version : bf16::versions())
    EXPECT_EQ(&bf16::version_named(version.name), &version);
  try {
    bf16::version_named("amx_fp128");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("amx_fp128"), std::string::npos);
    EXPECT_NE(error.hint().find("it has"), std::string::npos) << error.hint();
  }
}

}  // namespace cpu_bf16_gemm_test
}  // namespace headroom
