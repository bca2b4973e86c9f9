// The kernels of matmul, in order. Each is defined in the file of its name; those for GPUs are shared with
// linear.
#include "ops/matmul/matmul.h"

namespace headroom {

std::vector<Kernel> matmul_cuda_products();
Kernel matmul_cpu_bf16();
Kernel matmul_cpu_bf16x6();
Kernel matmul_cpu_packed();
Kernel matmul_cpu_blas();
Kernel matmul_cpu_wide();
Kernel matmul_reference();

std::vector<Operator> matmul_operators() {
  std::vector<Kernel> kernels = matmul_cuda_products();
  for (Kernel (*kernel)() : {matmul_cpu_bf16, matmul_cpu_packed, matmul_cpu_bf16x6, matmul_cpu_blas,
                             matmul_cpu_wide, matmul_reference})
    kernels.push_back(kernel());
  return {{.schema = matmul_schema(), .kernels = kernels, .cases = matmul_cases(), .exact = true}};
}

}  // namespace headroom
