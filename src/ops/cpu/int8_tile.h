#pragma once

// The inner loop of int8_gemm, one version for each set of instructions, chosen when the program runs.

#include <cstdint>
#include <span>
#include <string_view>

namespace headroom::int8 {

inline constexpr int kRows = 6;      // of a tile: 6 x 4 vectors of sums, and 32 registers
inline constexpr int kMaxRows = 64;  // of a tile of any version
inline constexpr int kPanel = 64;    // columns of a tile
#if defined(__aarch64__)
inline constexpr bool kSignedPanel = true;
#else
inline constexpr bool kSignedPanel = false;  // x86 multiplies unsigned by signed bytes
#endif

// sums[r][j] = sum over `groups` of four terms: rows[r][4 g + t] * panel[g][j][t], for up to so many rows as
// the version says, which follow one another without a gap, and up to kPanel columns; sums of further columns
// are not meant to be read. The panel is aligned to 64 bytes, and so are the sums.
using Tile = void (*)(int count, int columns, std::int64_t groups, const std::int8_t* rows,
                      const std::uint8_t* panel, std::int32_t* sums);
struct Version {
  Tile tile;
  std::string_view name;  // "avx512_vnni"
  int rows = kRows;       // at most
  // For measurements: independent dot products and nothing else, and how many products a round has. Null:
  // there is no such instruction.
  void (*chains)(std::int64_t rounds) = nullptr;
  int round_products = 0;
};
// Those that this processor has, fastest first; the last is "plain".
std::span<const Version> versions();

}  // namespace headroom::int8
