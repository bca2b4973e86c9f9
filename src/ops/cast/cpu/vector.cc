// Vectors of elements, in parallel.
#include "ops/cast/convert_all.h"

namespace headroom {

Kernel cast_cpu_vector() {
  return {.name = "cpu:vector", .accepts = casts::accepts, .prepare = casts::convert_all<true>};
}

}  // namespace headroom
