#pragma once

#include "ops/kernel.h"

namespace headroom {

// Whether a product of bf16 beats one of fp32 that packs nothing: both factors are rounded and packed first,
// and tiles are whole. Rates of one core of a Sapphire Rapids.
inline Verdict bf16_pays(const ProductExtent& e) {
  constexpr double kFp32 = 7e10, kBf16 = 1e12;  // FLOP/s
  constexpr double kPacking = 0.8e-9;           // seconds for an element
  constexpr std::int64_t kLanes = 16, kTerms = 32;
  const auto filled = [](std::int64_t n, std::int64_t to) { return double((n + to - 1) / to * to); };
  const double m = filled(e.m, kLanes), n = filled(e.n, kLanes), k = filled(e.k, kTerms);
  const double seconds = (m + n) * k * kPacking + 2 * m * n * k / kBf16;
  if (seconds < 2 * double(e.m) * double(e.n) * double(e.k) / kFp32) return accept();
  return refuse("too small: packing would take longer than the product of fp32");
}

}  // namespace headroom
