#pragma once

// How an update meets what is there, one pair at a time: what the kernels of the CPU and of a GPU share.

#include "base/host_device.h"

namespace headroom {

enum class Reduction { none, add, mul, max, min };

template <class T>
HEADROOM_HOST_DEVICE inline T combined(Reduction how, T there, T update) {
  switch (how) {
    case Reduction::add:
      return static_cast<T>(there + update);
    case Reduction::mul:
      return static_cast<T>(there * update);
    case Reduction::max:
      return there > update || there != there ? there : update;
    case Reduction::min:
      return there < update || there != there ? there : update;
    default:
      return update;
  }
}

#ifndef __CUDACC__
struct Problem;
Reduction reduction_of(const Problem& problem);
#endif

}  // namespace headroom
