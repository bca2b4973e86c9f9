#pragma once

#include "ops/unary/function.h"

namespace headroom::unary {

// Functions that networks use on few elements: their definition, number by number. Rounding becomes one
// instruction of the machine all the same.
template <class S>
struct Lanewise : S {
  template <class T>
  static Vec<T> map(Vec<T> x, const Knobs<T>& k) {
    for (int i = 0; i < simd::kLanes<T>; ++i) x[i] = S::template at<T>(x[i], k);
    return x;
  }
  template <class T>
  static Vec<T> grad(Vec<T> dy, Vec<T> x, const Knobs<T>& k) {
    for (int i = 0; i < simd::kLanes<T>; ++i) x[i] = dy[i] * S::template slope<T>(x[i], k);
    return x;
  }
};

using Floor = Lanewise<scalar::Floor>;
using Ceil = Lanewise<scalar::Ceil>;
using Round = Lanewise<scalar::Round>;
using Sign = Lanewise<scalar::Sign>;
using Sin = Lanewise<scalar::Sin>;
using Cos = Lanewise<scalar::Cos>;
using Softplus = Lanewise<scalar::Softplus>;

}  // namespace headroom::unary
