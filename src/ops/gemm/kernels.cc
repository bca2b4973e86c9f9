// The kernels of gemm, in order of preference; `bench gemm` climbs them the other way round. Those for GPUs
// are shared with linear and matmul.
#include "ops/gemm/gemm.h"

namespace headroom {

std::vector<Kernel> gemm_cuda_products();
Kernel gemm_cpu_bf16();
Kernel gemm_cpu_bf16x6();
Kernel gemm_cpu_packed();
Kernel gemm_cpu_blas();
Kernel gemm_cpu_threaded();
Kernel gemm_cpu_vector();
Kernel gemm_cpu_blocked();
Kernel gemm_cpu_row_vectors();
Kernel gemm_cpu_loops_threaded();
Kernel gemm_cpu_loops();
Kernel gemm_reference();

std::vector<Operator> gemm_operators() {
  std::vector<Kernel> kernels = gemm_cuda_products();
  for (Kernel (*kernel)() :
       {gemm_cpu_bf16, gemm_cpu_packed, gemm_cpu_bf16x6, gemm_cpu_blas, gemm_cpu_threaded, gemm_cpu_vector,
        gemm_cpu_blocked, gemm_cpu_row_vectors, gemm_cpu_loops_threaded, gemm_cpu_loops, gemm_reference})
    kernels.push_back(kernel());
  return {{.schema = gemm_schema(), .kernels = kernels, .cases = gemm_cases(), .exact = true}};
}

}  // namespace headroom
