#pragma once

namespace headroom::cuda {

// Does `next` replace `best` as the maximum found so far? NaN is larger than any number.
template <class C>
__device__ inline bool exceeds(C next, C best) {
  return !(next <= best) && best == best;
}

// With one rounding: near 1 that of the square would be all that is left.
template <class C>
__device__ inline C one_minus_square(C y) {
  return fma(-y, y, C{1});
}

// dy times the slope of an activation, as headroom::Activation counts, by its output y.
template <class C>
__device__ inline C sloped(int activation, C dy, C y) {
  switch (activation) {
    case 1:
      return y > 0 ? dy : C{0};
    case 2:
      return dy * (y * (C{1} - y));
    case 3:
      return dy * one_minus_square(y);
    default:
      return dy;
  }
}

}  // namespace headroom::cuda
