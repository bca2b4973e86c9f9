#pragma once

// What the versions of int8_tile.cc share.

namespace headroom::int8 {

// Calls f.operator()<count>() for a count known while compiling: sums stay in registers.
template <int kMax, class F>
void dispatch_count(int count, F&& f) {
  if constexpr (kMax > 1)
    if (count < kMax) return dispatch_count<kMax - 1>(count, f);
  f.template operator()<kMax>();
}

// Twelve sums hide the latency of two units, and sixteen registers hold them.
inline constexpr int kChains = 12;

}  // namespace headroom::int8
