#pragma once

namespace headroom::cuda {

// What max_pool_grad remembers of an output of NHWC: a byte, which tap of its window, 255 where it sees
// padding alone; or an int where windows are larger or adapt.
inline int place_bytes(bool adaptive, long long taps) { return !adaptive && taps < 255 ? 1 : 4; }

template <class Pool>
int place_bytes(const Pool& p) {
  return place_bytes(p.rows.adaptive, static_cast<long long>(p.rows.kernel) * p.columns.kernel);
}

}  // namespace headroom::cuda
