#pragma once

// What a function of one element consists of. Each is a struct with
//   kSpecial, kOther   operations per element, for the cost
//   kFromOutput        does the slope take y instead of x?
//   at, slope          the definition and its derivative, for the reference
//   map<T>, grad<T>    the same on vectors; grad multiplies by dy
// A gradient that is made of other operators has no slope.
// Optional: is_simple<T> and simple<T>, a faster map for arguments that need no care.

#include "ops/cpu/verf.h"

namespace headroom {

// alpha and beta, or the bounds of clip.
template <class T>
struct Knobs {
  T a, b;
};

template <class T>
using Vec = simd::Vec<T>;

template <class T>
inline Vec<T> select(simd::IntVec<T> condition, Vec<T> yes, Vec<T> no) {
  return condition ? yes : no;
}
template <class T>
inline Vec<T> constant(double x) {
  return simd::broadcast(static_cast<T>(x));
}

}  // namespace headroom
