// Every version of the inner loop that this processor has, and the product around it.
#include "ops/cpu/int8_gemm.h"

#include <gtest/gtest.h>

#include <omp.h>

#include <vector>

#include "base/random.h"
#include "ops/cpu/int8_tile.h"

namespace headroom {
namespace cpu_int8_gemm_test {

std::vector<std::uint8_t> bytes(std::size_t count, std::uint64_t seed) {
  const Philox random(seed, 1);
  std::vector<std::uint8_t> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = static_cast<std::uint8_t>(random.below(i, 256));
  return list;
}

TEST(Int8Gemm, VersionsOfTheTileAgree) {
  struct alignas(64) Line {
    std::uint8_t bytes[64];
  };
  for (const std::int64_t groups : {1, 2, 7, 15, 16, 17, 33}) {
    const auto rows = bytes(static_cast<std::size_t>(int8::kMaxRows * groups * 4), 3);
    std::vector<Line> panel(static_cast<std::size_t>(groups) * 4);
    const auto from = bytes(panel.size() * 64, 5);
    std::copy(from.begin(), from.end(), panel[0].bytes);
    for (const int count : {1, 2, 3, 4, 5, 6, 15, 16, 17, 33, int8::kMaxRows})
      for (const int columns : {1, 16, 17, 33, 49, int8::kPanel}) {
        const auto sums_of = [&](const int8::Version& version) {
          constexpr std::int32_t kUntouched = 77;
          alignas(64) std::int32_t sums[(int8::kMaxRows + 1) * int8::kPanel];
          std::fill(std::begin(sums), std::end(sums), kUntouched);
          version.tile(count, columns, groups, reinterpret_cast<const std::int8_t*>(rows.data()),
                       panel[0].bytes, sums);
          EXPECT_EQ(sums[count * int8::kPanel], kUntouched) << version.name << " wrote behind its rows";
          std::vector<std::int32_t> list;
          for (int r = 0; r < count; ++r)
            list.insert(list.end(), sums + r * int8::kPanel, sums + r * int8::kPanel + columns);
          return list;
        };
        const auto want = sums_of(int8::versions().back());  // takes any number of rows
        for (const int8::Version& version : int8::versions()) {
          if (count > version.rows) continue;
          EXPECT_EQ(sums_of(version), want)
              << version.name << ", " << count << " rows, " << columns << " columns, " << groups << " groups";
        }
      }
  }
}

// The bits do not depend on the number of threads, and neither does what the scratch memory must hold.
TEST(Int8Gemm, IsTheSameOnAnyNumberOfThreads) {
  const std::int64_t m = 150, n = 70, k = 131;
  const auto a = bytes(static_cast<std::size_t>(m * k), 7), b = bytes(static_cast<std::size_t>(k * n), 8);
  const auto zeros = bytes(200, 9);
  const int before = omp_get_max_threads();
  std::vector<std::int32_t> first;
  for (const int threads : {1, 2, 5}) {
    omp_set_num_threads(threads);
    std::vector<std::int32_t> c(static_cast<std::size_t>(m * n));
    std::vector<std::byte> scratch(int8_gemm_scratch(m, k, threads));
    int8_gemm(m, n, k, {a.data(), true, k, zeros.data(), true}, {b.data(), false, n, zeros.data(), true},
              c.data(), n, scratch.data());
    if (first.empty()) first = c;
    EXPECT_EQ(c, first) << threads << " threads";
  }
  omp_set_num_threads(before);
}

}  // namespace cpu_int8_gemm_test
}  // namespace headroom
