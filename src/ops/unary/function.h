#pragma once

// A function of one element on vectors: each struct adds to its definition in scalar.h
//   map<T>, grad<T>    the same on vectors; grad multiplies by dy
// Optional: is_simple<T> and simple<T>, a faster map for arguments that need no care.

#include "ops/cpu/verf.h"
#include "ops/unary/scalar.h"

namespace headroom {

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
