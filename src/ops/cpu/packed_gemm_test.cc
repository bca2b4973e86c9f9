#include "ops/cpu/packed_gemm.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/error.h"
#include "base/random.h"
#include "ops/cpu/gemm_blocks.h"

namespace headroom {
namespace cpu_packed_gemm_test {

struct Call {
  bool ta = false, tb = false;
  std::int64_t m = 1, n = 1, k = 1;
  double alpha = 1, beta = 0;
  std::int64_t gap = 0;  // elements between rows that belong to nobody
};

constexpr int kGuard = 64;

// Small integers, most of which are not 0: every sum is exact, so every order of adding gives the same bits.
template <class T>
std::vector<T> integers(std::int64_t count, std::uint64_t seed) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<int>(Philox(seed).bits(i) % 9) - 4);
  return values;
}

template <class T>
struct Matrices {
  explicit Matrices(const Call& r)
      : lda((r.ta ? r.m : r.k) + r.gap),
        ldb((r.tb ? r.k : r.n) + r.gap),
        ldc(r.n + r.gap),
        a(integers<T>((r.ta ? r.k : r.m) * lda, 1)),
        b(integers<T>((r.tb ? r.n : r.k) * ldb, 2)),
        c(static_cast<std::size_t>(r.m * ldc + 2 * kGuard), T{7}) {}
  T* result() { return c.data() + kGuard; }
  std::int64_t lda, ldb, ldc;
  std::vector<T> a, b, c;
};

template <class T>
void multiply(const gemm_tile::Tile<T>& tile, const Call& r, Matrices<T>& x, const AfterGemm<T>& after = {}) {
  packed_gemm<T>(tile, r.ta, r.tb, {r.m, r.n, r.k}, static_cast<T>(r.alpha), x.a.data(), x.lda, x.b.data(),
                 x.ldb, static_cast<T>(r.beta), x.result(), x.ldc, after);
}

// What c should be, element for element, with what stands around and between its rows.
template <class T>
std::vector<T> by_hand(const Call& r, Matrices<T> x) {
  for (std::int64_t i = 0; i < r.m; ++i)
    for (std::int64_t j = 0; j < r.n; ++j) {
      double sum = 0;
      for (std::int64_t l = 0; l < r.k; ++l)
        sum += double{x.a[static_cast<std::size_t>(r.ta ? l * x.lda + i : i * x.lda + l)]} *
               double{x.b[static_cast<std::size_t>(r.tb ? j * x.ldb + l : l * x.ldb + j)]};
      T& c = x.result()[i * x.ldc + j];
      c = static_cast<T>(r.alpha * sum + (r.beta == 0 ? 0 : r.beta * double{c}));
    }
  return x.c;
}

template <class T>
void expect_exact(const gemm_tile::Tile<T>& tile, const Call& r) {
  Matrices<T> x(r);
  const std::vector<T> want = by_hand(r, x);
  multiply(tile, r, x);
  EXPECT_EQ(x.c, want) << "tile of " << tile.rows << " x " << tile.columns << ": " << r.m << " x " << r.n
                       << " x " << r.k << " ta " << r.ta << " tb " << r.tb << " beta " << r.beta;
}

template <class Body>
void each_tile(Body&& body) {
  for (const gemm_tile::Version& version : gemm_tile::versions()) {
    body(version.f32);
    body(version.f64);
  }
}

TEST(PackedGemm, OddExtentsAreExact) {
  each_tile([]<class T>(const gemm_tile::Tile<T>& tile) {
    for (std::int64_t m : {1, 2, 3, tile.rows - 1, tile.rows, tile.rows + 1})
      for (std::int64_t n : {1, 2, 3, tile.lanes + 1, tile.columns - 1, tile.columns, tile.columns + 1})
        for (std::int64_t k : {1, 2, 3, 7})
          for (int t = 0; t < 4; ++t)
            expect_exact(tile, {.ta = (t & 1) != 0, .tb = (t & 2) != 0, .m = m, .n = n, .k = k, .gap = t});
  });
}

// Past the blocks of every cache, and with either factor read in place or packed.
TEST(PackedGemm, LargeExtentsAreExact) {
  each_tile([]<class T>(const gemm_tile::Tile<T>& tile) {
    for (int t = 0; t < 4; ++t) {
      Call r{.ta = (t & 1) != 0, .tb = (t & 2) != 0, .alpha = 2, .beta = 3, .gap = 5};
      r.m = 781, r.n = 17 * tile.columns + 3, r.k = 5;
      expect_exact(tile, r);
      r.m = 2 * tile.rows + 1, r.n = 40, r.k = 801;
      expect_exact(tile, r);
      r.m = 9 * tile.rows + 2, r.n = 10, r.k = 390;
      expect_exact(tile, r);
      r.m = 5, r.n = 3100, r.k = 9;
      expect_exact(tile, r);
      r.m = 3, r.n = 1301, r.k = 811;
      expect_exact(tile, r);
    }
  });
}

TEST(PackedGemm, BetaOfZeroReadsNoC) {
  each_tile([]<class T>(const gemm_tile::Tile<T>& tile) {
    for (std::int64_t k : {0, 5, 800}) {
      const Call r{.m = 13, .n = 70, .k = k};
      Matrices<T> x(r);
      const std::vector<T> want = by_hand(r, x);
      std::fill_n(x.result(), r.m * r.n, std::numeric_limits<T>::quiet_NaN());
      multiply(tile, r, x);
      EXPECT_EQ(x.c, want) << k;
    }
  });
}

TEST(PackedGemm, NoTermsScaleC) {
  each_tile([]<class T>(const gemm_tile::Tile<T>& tile) {
    expect_exact(tile, {.m = 5, .n = 9, .k = 0, .beta = 3, .gap = 2});
    expect_exact(tile, {.m = 0, .n = 9, .k = 4});
    expect_exact(tile, {.m = 5, .n = 0, .k = 4});
  });
}

TEST(PackedGemm, EveryElementIsFinishedOnce) {
  each_tile([]<class T>(const gemm_tile::Tile<T>& tile) {
    for (std::int64_t k : {0, 3, 900}) {
      const Call r{.m = 101, .n = 333, .k = k};
      Matrices<T> x(r);
      std::vector<T> want = by_hand(r, x);
      for (std::int64_t i = 0; i < r.m * r.n; ++i)
        want[static_cast<std::size_t>(kGuard + i)] += static_cast<T>(1 + i);
      multiply<T>(tile, r, x, [&](std::int64_t row, std::int64_t column, std::int64_t columns, T* c) {
        for (std::int64_t j = 0; j < columns; ++j) c[j] += static_cast<T>(1 + row * r.n + column + j);
      });
      EXPECT_EQ(x.c, want) << k;
    }
  });
}

// On 1, 2, 3 and 16 threads, with numbers that round: any other order of adding would show.
template <class T>
void expect_same_bits(const gemm_tile::Tile<T>& tile, const Call& r, const AfterGemm<T>& after = {}) {
  const int before = omp_get_max_threads();
  Matrices<T> numbers(r);
  for (T& v : numbers.a) v = v / T{3} + T{0.01};
  std::vector<T> one;
  for (int threads : {1, 2, 3, 16}) {
    omp_set_num_threads(threads);
    Matrices<T> y = numbers;
    multiply(tile, r, y, after);
    if (threads == 1) one = y.c;
    EXPECT_EQ(y.c, one) << threads << " threads, " << r.m << " x " << r.n << " x " << r.k;
  }
  omp_set_num_threads(before);
}

TEST(PackedGemm, BitsAreTheSameOn1To16Threads) {
  each_tile([]<class T>(const gemm_tile::Tile<T>& tile) {
    for (auto [m, n, k] : {GemmExtent{700, 300, 400},
                           {900, 560, 810},
                           {2100, 300, 40},
                           {64, 512, 784},
                           {3000, 10, 401},
                           {10, 700, 900}})
      for (bool tb : {false, true})
        expect_same_bits<T>(tile, {.ta = tb, .tb = tb, .m = m, .n = n, .k = k, .alpha = 0.3, .beta = 0.7});
  });
}

template <class T>
packed::TermSplit split_on_16(const gemm_tile::Tile<T>& tile, const GemmExtent& e) {
  return packed::term_split(
      product_threads(tile, e, 16), packed::pieces(e.m, tile.rows), packed::pieces(e.n, tile.columns),
      packed::pieces(e.k, packed::block_terms(tile, e.k)), e.m * e.n * std::int64_t{sizeof(T)});
}

TEST(PackedGemm, SplitSumsHaveTheBitsOfWholeOnes) {
  each_tile([]<class T>(const gemm_tile::Tile<T>& tile) {
    const AfterGemm<T> scale = [](std::int64_t row, std::int64_t column, std::int64_t columns, T* c) {
      for (std::int64_t j = 0; j < columns; ++j) c[j] *= static_cast<T>(row + column + j);
    };
    int split = 0;
    for (auto [m, n, k] : {GemmExtent{100, 50, 4005}, {20, 160, 4000}, {7, 290, 4600}, {30, 190, 6100}}) {
      if (split_on_16(tile, {m, n, k})) ++split;
      for (bool ta : {false, true})
        expect_same_bits<T>(
            tile, {.ta = ta, .tb = !ta, .m = m, .n = n, .k = k, .beta = ta ? 0.7 : 0, .gap = 3}, scale);
    }
    EXPECT_GE(split, 2);
  });
}

// More sums than are held at a time, of several groups of rows.
TEST(PackedGemm, SplitSumsAreAddedInSeveralRounds) {
  const gemm_tile::Tile<float>& tile = gemm_tile::versions()[0].f32;
  Call r{.tb = true, .m = 16 * tile.rows - 1, .n = 16 * tile.columns - 3};
  const std::int64_t held = (std::int64_t{16} << 20) / (r.m * r.n * std::int64_t{sizeof(float)});
  r.k = held * 5 / 4 * (tile.term_bytes / std::int64_t{sizeof(float)});
  const packed::TermSplit split = split_on_16(tile, {r.m, r.n, r.k});
  EXPECT_TRUE(split);
  EXPECT_LT(split.blocks, packed::pieces(r.k, packed::block_terms(tile, r.k)));
  expect_same_bits(tile, r);
}

TEST(PackedGemm, RunsInsideAParallelRegion) {
  const Call r{.m = 300, .n = 200, .k = 100};
  const gemm_tile::Tile<float>& tile = gemm_tile::versions()[0].f32;
  const std::vector<float> want = by_hand(r, Matrices<float>(r));
  std::vector<Matrices<float>> all(4, Matrices<float>(r));
#pragma omp parallel for num_threads(4)
  for (std::size_t i = 0; i < all.size(); ++i) multiply(tile, r, all[i]);
  for (const Matrices<float>& x : all) EXPECT_EQ(x.c, want);
}

TEST(GemmTile, AProcessorIsAskedForWhatItHas) {
  for (const gemm_tile::Version& version : gemm_tile::versions())
    EXPECT_EQ(&gemm_tile::version_named(version.name), &version);
  try {
    gemm_tile::version_named("avx1024");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("avx1024"), std::string::npos);
    EXPECT_NE(error.hint().find(gemm_tile::versions().back().name), std::string::npos) << error.hint();
  }
}

}  // namespace cpu_packed_gemm_test
}  // namespace headroom
