#pragma once

#include "ops/kernel.h"

namespace headroom {

// One core, and tiles that are filled up to whole vectors.
struct Bf16Rates {
  double fp32, bf16;  // FLOP/s of products that pack nothing
  double packing;     // seconds for an element
  std::int64_t lanes, terms;
};
#if defined(__aarch64__)
inline constexpr Bf16Rates kBf16Rates = {
    .fp32 = 6.8e10, .bf16 = 2.6e11, .packing = 0.5e-9, .lanes = 4, .terms = 4};
#else
inline constexpr Bf16Rates kBf16Rates = {
    .fp32 = 7e10, .bf16 = 1e12, .packing = 0.8e-9, .lanes = 16, .terms = 32};
#endif

// Whether a product of bf16 beats one of fp32 that packs nothing: both factors are rounded and packed first,
// and tiles are whole. Rates are those of a Neoverse V1 on Arm and of a Sapphire Rapids elsewhere.
inline Verdict bf16_pays(const ProductExtent& e) {
  constexpr Bf16Rates r = kBf16Rates;
  const auto filled = [](std::int64_t n, std::int64_t to) { return double((n + to - 1) / to * to); };
  const double m = filled(e.m, r.lanes), n = filled(e.n, r.lanes), k = filled(e.k, r.terms);
  const double seconds = (m + n) * k * r.packing + 2 * m * n * k / r.bf16;
  if (seconds < 2 * double(e.m) * double(e.n) * double(e.k) / r.fp32) return accept();
  return refuse("too small: packing would take longer than the product of fp32");
}

}  // namespace headroom
