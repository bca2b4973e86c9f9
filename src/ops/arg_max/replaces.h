#pragma once

#include "base/host_device.h"

namespace headroom {

// Does an element found later along the axis take the place of the best one so far?
template <class T>
HEADROOM_HOST_DEVICE inline bool replaces(T next, T best, bool least, bool last) {
  const bool next_is_nan = next != next, best_is_nan = best != best;
  if (next_is_nan || best_is_nan) return next_is_nan && (!best_is_nan || last);
  if (next == best) return last;
  return least ? next < best : next > best;
}

}  // namespace headroom
