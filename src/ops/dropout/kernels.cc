// The kernels of dropout, in order. Each is defined in the file of its name.
#include "ops/dropout/dropout.h"

namespace headroom {

Kernel dropout_cuda_blocks();
Kernel dropout_cpu_blocks();
Kernel dropout_reference();

std::vector<Operator> dropout_operators() {
  return {{.schema = dropout_schema(),
           .kernels = {dropout_cuda_blocks(), dropout_cpu_blocks(), dropout_reference()},
           .cases = dropout_cases(),
           .no_gradient = {1}}};
}

}  // namespace headroom
