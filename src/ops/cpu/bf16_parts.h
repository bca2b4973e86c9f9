#pragma once

// Exact fp32 by AMX: every factor is the sum of three bf16, x = x1 + x2 + x3, each of which has the next
// eight bits of its significand. Six of their nine products count: x1 y1, x1 y2, x2 y1, x2 y2, x1 y3 and x3
// y1. The other three are smaller than the rounding of fp32. Part of bf16_tile.cc.

#include "ops/cpu/amx_config.h"
#include "ops/cpu/bf16_tile.h"

namespace headroom::bf16 {

// Sums of one run. Tiles as in amx_sums: 0 to 3 hold the sums, 4 and 5 rows of A, 6 and 7 columns of B. From
// one pair of parts to the next, one of them stays.
template <int kDown, int kAcross>
__attribute__((target("amx-tile,amx-bf16"))) void amx_sums_of_parts(std::int64_t terms, const Bits* a,
                                                                    const Bits* b, float* to,
                                                                    std::int64_t to_row) {
  constexpr std::int64_t kAPart = kDown * 512, kBPart = kAcross * 512;
  const auto load_a = [](const Bits* at) __attribute__((target("amx-tile"), always_inline)) {
    _tile_loadd(4, at, 64);
    if constexpr (kDown == 2) _tile_loadd(5, at + 512, 64);
  };
  const auto load_b = [](const Bits* at) __attribute__((target("amx-tile"), always_inline)) {
    _tile_loadd(6, at, 64);
    if constexpr (kAcross == 2) _tile_loadd(7, at + 512, 64);
  };
  const auto multiply = []() __attribute__((target("amx-tile,amx-bf16"), always_inline)) {
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kAcross == 2) _tile_dpbf16ps(1, 4, 7);
    if constexpr (kDown == 2) _tile_dpbf16ps(2, 5, 6);
    if constexpr (kDown * kAcross == 4) _tile_dpbf16ps(3, 5, 7);
  };
  amx_fence();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (std::int64_t t = 0; t < terms; t += 32, a += kParts * kAPart, b += kParts * kBPart) {
    load_a(a), load_b(b + 2 * kBPart), multiply();
    load_b(b + kBPart), multiply();
    load_a(a + kAPart), multiply();
    load_b(b), multiply();
    load_a(a + 2 * kAPart), multiply();
    load_a(a), multiply();
  }
  _tile_stored(0, to, to_row * 4);
  if constexpr (kAcross == 2) _tile_stored(1, to + 16, to_row * 4);
  if constexpr (kDown == 2) _tile_stored(2, to + 16 * to_row, to_row * 4);
  if constexpr (kDown * kAcross == 4) _tile_stored(3, to + 16 * to_row + 16, to_row * 4);
  amx_fence();
}

}  // namespace headroom::bf16
