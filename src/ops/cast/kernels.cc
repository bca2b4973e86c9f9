// The kernels of the casts, in order. Each is defined in the file of its name.
#include "ops/cast/cast.h"

namespace headroom {

Kernel cast_cuda_map();
Kernel cast_cpu_vector();
Kernel cast_reference();
Kernel cast_all_cuda_table();
Kernel cast_all_reference();

std::vector<Operator> cast_operators() {
  return {{.schema = cast_schema(),
           .kernels = {cast_cuda_map(), cast_cpu_vector(), cast_reference()},
           .cases = cast_cases(),
           .exact = true},
          {.schema = cast_all_schema(),
           .kernels = {cast_all_cuda_table(), cast_all_reference()},
           .cases = cast_all_cases(),
           .exact = true}};
}

}  // namespace headroom
