#pragma once

namespace headroom::cuda {

// Does `next` replace `best` as the maximum found so far? NaN is larger than any number.
template <class C>
__device__ inline bool exceeds(C next, C best) {
  return !(next <= best) && best == best;
}

}  // namespace headroom::cuda
