// The kernels of the poolings, in order. Each is defined in the file of its name and looks at the operator's
// name once, in prepare.
#include "ops/pool/pool.h"

namespace headroom {

Kernel pool_cuda_windows();
Kernel pool_cpu_pairs();
Kernel pool_cpu_rows();
Kernel pool_cpu_planes();
Kernel pool_reference();

std::vector<Operator> pool_operators() {
  const std::vector<Kernel> forward = {pool_cuda_windows(), pool_cpu_pairs(), pool_cpu_rows(),
                                       pool_reference()},
                            backward = {pool_cuda_windows(), pool_cpu_pairs(), pool_cpu_planes(),
                                        pool_reference()};
  return {
      {.schema = max_pool_schema(), .kernels = forward, .cases = pool_cases("max_pool"), .exact = true},
      {.schema = max_pool_grad_schema(),
       .kernels = backward,
       .cases = pool_cases("max_pool_grad"),
       .exact = true},
      {.schema = avg_pool_schema(), .kernels = forward, .cases = pool_cases("avg_pool")},
      {.schema = avg_pool_grad_schema(), .kernels = backward, .cases = pool_cases("avg_pool_grad")},
  };
}

}  // namespace headroom
