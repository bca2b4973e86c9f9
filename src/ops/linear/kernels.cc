// The kernels of linear, in order. Each is defined in the file of its name; those for GPUs are shared with
// matmul.
#include "ops/linear/linear.h"

namespace headroom {

std::vector<Kernel> linear_cuda_products();
Kernel linear_cpu_few_rows();
Kernel linear_cpu_bf16();
Kernel linear_cpu_bf16x6();
Kernel linear_cpu_packed();
Kernel linear_cpu_blas();
Kernel linear_cpu_wide();
Kernel linear_reference();

std::vector<Operator> linear_operators() {
  std::vector<Kernel> kernels = linear_cuda_products();
  for (Kernel (*kernel)() : {linear_cpu_few_rows, linear_cpu_bf16, linear_cpu_packed, linear_cpu_bf16x6,
                             linear_cpu_blas, linear_cpu_wide, linear_reference})
    kernels.push_back(kernel());
  return {{.schema = linear_schema(), .kernels = kernels, .cases = linear_cases(), .exact = true}};
}

}  // namespace headroom
