#include "ops/cpu/gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <array>
#include <vector>

#include "base/random.h"

namespace headroom {
namespace cpu_gemm_test {

template <class T>
std::vector<T> normals(std::int64_t count, std::uint64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(Philox(seed).normal(i));
  return values;
}

template <class T>
std::vector<T> product(int threads, bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k) {
  const std::vector<T> a = normals<T>(m * k, 1), b = normals<T>(k * n, 2);
  std::vector<T> c(static_cast<std::size_t>(m * n), T{1});
  const int before = omp_get_max_threads();
  omp_set_num_threads(threads);
  gemm(ta, tb, m, n, k, T{2}, a.data(), ta ? m : k, b.data(), tb ? k : n, T{5}, c.data(), n);
  EXPECT_EQ(omp_get_max_threads(), threads);
  omp_set_num_threads(before);
  return c;
}

const std::array<std::int64_t, 3> kShapes[] = {{1, 1, 1},       {800, 100, 784}, {100, 784, 800},
                                               {517, 10, 1031}, {10, 517, 999},  {331, 407, 97},
                                               {97, 1000, 300}};

TEST(Gemm, BitsDoNotDependOnThreads) {
  for (auto [m, n, k] : kShapes)
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        const auto one = product<float>(1, ta, tb, m, n, k);
        for (int threads : {2, 3, 4})
          EXPECT_EQ(one, product<float>(threads, ta, tb, m, n, k)) << m << " " << n;
        EXPECT_EQ(product<double>(1, ta, tb, m, n, k), product<double>(2, ta, tb, m, n, k));
      }
}

TEST(Gemm, TilesMakeTheWholeProduct) {
  for (auto [m, n, k] : kShapes) {
    const auto c = product<double>(2, false, false, m, n, k);
    const auto a = normals<double>(m * k, 1), b = normals<double>(k * n, 2);
    double worst = 0;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; j += 7) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l)
          sum += a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(l * n + j)];
        worst = std::max(worst, std::abs(2 * sum + 5 - c[static_cast<std::size_t>(i * n + j)]));
      }
    EXPECT_LT(worst, 1e-11) << m << " " << n << " " << k;
  }
}

// A right factor packed once gives the bits that gemm gives.
template <class T>
void expect_same_bits(bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, T beta) {
  const std::int64_t ldb = (trans_b ? k : n) + 3, lda = k + 2, ldc = n + 1;
  const std::vector<T> a = normals<T>(m * lda, 1), b = normals<T>((trans_b ? n : k) * ldb, 2);
  std::vector<T> want = normals<T>(m * ldc, 3), got = want;
  gemm(false, trans_b, m, n, k, T{1}, a.data(), lda, b.data(), ldb, beta, want.data(), ldc);
  constexpr std::int64_t kGuard = 40;
  std::vector<T> packed(static_cast<std::size_t>(packed_elements<T>(n, k) + kGuard), T{-5});
  pack_right(trans_b, n, k, b.data(), ldb, packed.data());
  gemm_by_packed(m, n, k, a.data(), lda, packed.data(), beta, got.data(), ldc);
  EXPECT_EQ(got, want) << m << " x " << n << " x " << k << (trans_b ? " transposed" : "");
  for (std::int64_t i = 1; i <= kGuard; ++i)
    ASSERT_EQ(packed[packed.size() - static_cast<std::size_t>(i)], T{-5}) << "wrote behind its end";
}

TEST(PackRight, ProductsHaveTheSameBits) {
  for (const bool trans_b : {false, true})
    for (const std::int64_t m : {1, 2, 13, 64})
      for (const std::int64_t n : {1, 7, 31, 33, 96})
        for (const std::int64_t k : {0, 1, 5, 383, 385, 800}) {
          expect_same_bits<float>(trans_b, m, n, k, 1);
          expect_same_bits<double>(trans_b, m, n, k, 0);
        }
}

TEST(PackRight, SeveralBlocksOfColumnsAndTerms) {
  const int before = omp_get_max_threads();
  omp_set_num_threads(3);
  for (const bool trans_b : {false, true}) {
    expect_same_bits<float>(trans_b, 30, 3072 + 100, 400, 0.5F);
    expect_same_bits<double>(trans_b, 500, 50, 700, 1);
  }
  omp_set_num_threads(before);
}

}  // namespace cpu_gemm_test
}  // namespace headroom
