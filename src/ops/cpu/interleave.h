#pragma once

// Shuffles between registers, for transposing squares and adding up lanes.

#include <utility>

#include "ops/cpu/simd.h"

namespace headroom::simd {

// Takes lanes of a and b in turn, from the first half of each, or from the second. gemm_tile_pack.inc has the
// same functions with an attribute for their instructions, so they cannot be shared. The indices are template
// arguments: g++ 12 would compute masks that a loop makes again for every square.
template <class V, std::size_t... I>
inline V interleave_first(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (I / 2 + I % 2 * sizeof...(I))...);
}
template <class V, std::size_t... I>
inline V interleave_second(V a, V b, std::index_sequence<I...>) {
  return __builtin_shufflevector(a, b, (sizeof...(I) / 2 + I / 2 + I % 2 * sizeof...(I))...);
}

// Lane i is the sum of the lanes of the i-th of as many registers as there are lanes. Each round adds the two
// halves of every register, and halves the number of registers.
template <class T>
inline Vec<T> sums_of_each(const T* registers) {
  constexpr int L = kLanes<T>;
  constexpr std::make_index_sequence<L> kAll{};
  Vec<T> v[L];
#pragma GCC unroll 16
  for (int i = 0; i < L; ++i) v[i] = load(registers + i * L);
#pragma GCC unroll 4
  for (int half = L / 2; half > 0; half /= 2)
#pragma GCC unroll 8
    for (int i = 0; i < half; ++i)
      v[i] = interleave_first(v[i], v[i + half], kAll) + interleave_second(v[i], v[i + half], kAll);
  return v[0];
}

}  // namespace headroom::simd
