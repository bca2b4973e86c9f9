#pragma once

// The overlap of two boxes, shared by the kernels of the CPU and of a GPU.

#include "base/host_device.h"

namespace headroom {

template <class T>
struct Box {
  T y1, x1, y2, x2;  // y1 <= y2, x1 <= x2
  HEADROOM_HOST_DEVICE T area() const { return (y2 - y1) * (x2 - x1); }
};

template <class T>
HEADROOM_HOST_DEVICE inline Box<T> corners_of(T a, T b, T c, T d, bool center) {
  if (center) return {b - d / 2, a - c / 2, b + d / 2, a + c / 2};
  return {a < c ? a : c, b < d ? b : d, a < c ? c : a, b < d ? d : b};
}

template <class T>
HEADROOM_HOST_DEVICE inline bool overlaps(const Box<T>& a, const Box<T>& b, T limit) {
  const T y1 = a.y1 > b.y1 ? a.y1 : b.y1, y2 = a.y2 < b.y2 ? a.y2 : b.y2;
  const T x1 = a.x1 > b.x1 ? a.x1 : b.x1, x2 = a.x2 < b.x2 ? a.x2 : b.x2;
  if (!(y2 > y1) || !(x2 > x1)) return false;
  const T both = (y2 - y1) * (x2 - x1), either = a.area() + b.area() - both;
  if (!(a.area() > 0) || !(b.area() > 0) || !(either > 0)) return false;
  return both / either > limit;
}

// Does a score count? NaN never does.
template <class T>
HEADROOM_HOST_DEVICE inline bool counts(T score, T above, bool all) {
  return all ? score == score : score > above;
}

}  // namespace headroom
