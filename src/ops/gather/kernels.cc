// The kernels of gather and of its gradient, in order. Each is defined in the file of its name.
#include "ops/gather/gather.h"

namespace headroom {

Kernel gather_cuda_slices();
Kernel gather_cpu_slices();
Kernel gather_cuda_owners();
Kernel gather_cpu_owners();
Kernel gather_reference();

std::vector<Operator> gather_operators() {
  return {{.schema = gather_schema(),
           .kernels = {gather_cuda_slices(), gather_cpu_slices(), gather_reference()},
           .cases = gather_cases(false),
           .exact = true},
          {.schema = gather_grad_schema(),
           .kernels = {gather_cuda_owners(), gather_cpu_owners(), gather_reference()},
           .cases = gather_cases(true),
           .exact = true}};
}

}  // namespace headroom
