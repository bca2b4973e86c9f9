// Products of bytes by the processor's dot products of four. x86 multiplies unsigned by signed bytes, Arm
// signed by signed ones: a byte of the other kind is moved by 128, and so is its zero point. Zero points cost
// no work inside the sums: with the sums of rows of A and of columns of B,
//   sum (a - za)(b - zb) = sum ab - zb sum a - za sum b + k za zb.
#include "ops/cpu/int8_gemm.h"

#include <algorithm>
#include <cstring>

#include "ops/cpu/int8_tile.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace cpu_int8_gemm_cc {
namespace {

using int8::kPanel;

std::int64_t rounded_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

// Bytes of a signed factor as unsigned ones, or the other way round: both by the top bit.
constexpr std::uint8_t flip(bool is_signed, bool wanted_signed) {
  return is_signed == wanted_signed ? 0 : 0x80;
}

std::int32_t number(std::uint8_t byte, bool is_signed) {
  return is_signed ? std::int32_t{static_cast<std::int8_t>(byte)} : std::int32_t{byte};
}

std::int32_t zero_at(const ByteFactor& f, std::int64_t i, bool wanted_signed) {
  const std::uint8_t byte = f.zeros[f.zero_each ? i : 0];
  return number(static_cast<std::uint8_t>(byte ^ flip(f.is_signed, wanted_signed)), wanted_signed);
}

// Where the parts of the scratch memory begin. Everything is a multiple of a cache line.
struct Scratch {
  static constexpr std::int64_t kLine = 64;
  std::int64_t groups;  // of four terms
  std::int64_t rows_bytes, sums_bytes, panel_bytes;

  Scratch(std::int64_t m, std::int64_t k)
      : groups((k + 3) / 4),
        rows_bytes(rounded_up(m * groups * 4, kLine)),
        sums_bytes(rounded_up(m * std::int64_t{sizeof(std::int32_t)}, kLine)),
        panel_bytes(groups * 4 * kPanel) {}
  std::int64_t bytes(int threads) const { return kLine + rows_bytes + sums_bytes + threads * panel_bytes; }
};

// Signed rows, filled up with zeros to whole groups, and their sums.
void pack_rows(const ByteFactor& a, std::int64_t m, std::int64_t k, std::int64_t width, std::int8_t* to,
               std::int32_t* sums) {
  const std::uint8_t change = flip(a.is_signed, true);
  parallel_for(m, kElementwiseGrain / std::max<std::int64_t>(k, 1) + 1,
               [=, &a](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::uint8_t* from = a.data + i * a.ld;
                   std::int8_t* row = to + i * width;
                   std::int32_t sum = 0;
#pragma omp simd
                   for (std::int64_t t = 0; t < k; ++t) row[t] = static_cast<std::int8_t>(from[t] ^ change);
#pragma omp simd reduction(+ : sum)
                   for (std::int64_t t = 0; t < k; ++t) sum += row[t];
                   std::fill(row + k, row + width, std::int8_t{0});
                   sums[i] = sum;
                 }
               });
}

// Up to kPanel columns of B: four terms of a column lie side by side, then the next column's. Rows and
// columns that B does not have are zero.
void pack_panel(const ByteFactor& b, std::int64_t k, std::int64_t column, std::int64_t columns,
                std::uint8_t* to, std::int32_t* sums) {
  const std::uint8_t change = flip(b.is_signed, int8::kSignedPanel);
  std::fill(sums, sums + kPanel, 0);
  for (std::int64_t t = 0; t < k; t += 4, to += 4 * kPanel) {
    alignas(64) std::uint8_t lines[4][kPanel] = {};
    for (std::int64_t r = 0; r < std::min<std::int64_t>(4, k - t); ++r) {
      const std::uint8_t* from = b.data + (t + r) * b.ld + column;
      if (columns == kPanel)
        for (std::int64_t j = 0; j < kPanel; ++j) lines[r][j] = from[j] ^ change;
      else
        for (std::int64_t j = 0; j < columns; ++j) lines[r][j] = from[j] ^ change;
      for (std::int64_t j = 0; j < kPanel; ++j) sums[j] += number(lines[r][j], int8::kSignedPanel);
    }
    for (std::int64_t j = 0; j < kPanel; ++j) {  // one 32-bit store for each column
      const std::uint32_t four = std::uint32_t{lines[0][j]} | std::uint32_t{lines[1][j]} << 8 |
                                 std::uint32_t{lines[2][j]} << 16 | std::uint32_t{lines[3][j]} << 24;
      std::memcpy(to + 4 * j, &four, sizeof four);
    }
  }
}

// One panel of the result, for some rows.
struct PanelProduct {
  std::int64_t m, n, k;
  const ByteFactor &a, &b;
  const std::int8_t* rows;
  const std::int32_t* row_sums;
  std::int64_t groups;
  std::int32_t* c;
  std::int64_t ldc;

  void run(std::int64_t column, std::int64_t columns, std::int64_t first, std::int64_t last,
           const std::uint8_t* panel, const std::int32_t* column_sums) const {
    using Word = std::uint32_t;  // wraps around
    Word zero_b[kPanel] = {}, sums_b[kPanel];
    for (std::int64_t j = 0; j < columns; ++j)
      zero_b[j] = static_cast<Word>(zero_at(b, column + j, int8::kSignedPanel));
    for (std::int64_t j = 0; j < kPanel; ++j) sums_b[j] = static_cast<Word>(column_sums[j]);
    alignas(64) std::int32_t sums[int8::kMaxRows * kPanel];
    const int8::Version& version = int8::versions().front();
    for (std::int64_t i = first; i < last; i += version.rows) {
      const auto count = static_cast<int>(std::min<std::int64_t>(version.rows, last - i));
      version.tile(count, static_cast<int>(columns), groups, rows + i * groups * 4, panel, sums);
      for (int r = 0; r < count; ++r) {
        const Word zero_a = static_cast<Word>(zero_at(a, i + r, true));
        const Word sum_a = static_cast<Word>(row_sums[i + r]) - static_cast<Word>(k) * zero_a;
        std::int32_t* to = c + (i + r) * ldc + column;
        for (std::int64_t j = 0; j < columns; ++j)
          to[j] = static_cast<std::int32_t>(static_cast<Word>(sums[r * kPanel + j]) - zero_b[j] * sum_a -
                                            zero_a * sums_b[j]);
      }
    }
  }
};

}  // namespace
}  // namespace cpu_int8_gemm_cc

std::size_t int8_gemm_scratch(std::int64_t m, std::int64_t k, int threads) {
  using namespace cpu_int8_gemm_cc;
  return static_cast<std::size_t>(Scratch(m, k).bytes(threads));
}

void int8_gemm(std::int64_t m, std::int64_t n, std::int64_t k, const ByteFactor& a, const ByteFactor& b,
               std::int32_t* c, std::int64_t ldc, void* scratch) {
  using namespace cpu_int8_gemm_cc;
  const Scratch parts(m, k);
  auto* base = static_cast<std::byte*>(scratch);
  base += -reinterpret_cast<std::uintptr_t>(base) % Scratch::kLine;
  auto* rows = reinterpret_cast<std::int8_t*>(base);
  auto* row_sums = reinterpret_cast<std::int32_t*>(base + parts.rows_bytes);
  auto* panels = reinterpret_cast<std::uint8_t*>(base + parts.rows_bytes + parts.sums_bytes);
  pack_rows(a, m, k, parts.groups * 4, rows, row_sums);
  const PanelProduct product{m, n, k, a, b, rows, row_sums, parts.groups, c, ldc};

  // Threads share panels; if there are too few of them, also the rows. A thread packs its panel itself.
  constexpr std::int64_t kLeastRows = 64;         // packing costs about as much as four rows
  constexpr std::int64_t kLeastProducts = 65536;  // of a piece: waking a thread costs as much
  const std::int64_t count = (n + kPanel - 1) / kPanel, team = team_limit();
  const std::int64_t chunks =
      std::clamp<std::int64_t>((team + count - 1) / count, 1, std::max<std::int64_t>(1, m / kLeastRows));
  const std::int64_t grain = kLeastProducts / std::max<std::int64_t>(1, m / chunks * k * kPanel) + 1;
  parallel_for(count * chunks, grain, [&](std::int64_t begin, std::int64_t end, int thread) {
    std::uint8_t* panel = panels + thread * parts.panel_bytes;
    std::int32_t column_sums[kPanel];
    std::int64_t packed = -1;
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t column = i / chunks * kPanel, chunk = i % chunks;
      const std::int64_t columns = std::min<std::int64_t>(kPanel, n - column);
      if (packed != column) pack_panel(b, k, column, columns, panel, column_sums);
      packed = column;
      product.run(column, columns, m * chunk / chunks, m * (chunk + 1) / chunks, panel, column_sums);
    }
  });
}

}  // namespace headroom
