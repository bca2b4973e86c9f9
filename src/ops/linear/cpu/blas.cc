// The product by the matrix library, bias and activation behind it.
#include "ops/cpu/blas.h"
#include "ops/linear/cpu/after_gemm.h"

namespace headroom {
namespace linear_cpu_blas_cc {
namespace {

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [l = linear_problem(p.inputs, p.attrs)](const LaunchArgs& a) {
      T* y = a.out<T>(0);
      blas_gemm(false, true, l.rows, l.out, l.in, T{1}, a.in<T>(0), l.in, a.in<T>(1), l.in, T{0}, y, l.out);
      linear::finish_rows(l, l.bias ? a.in<T>(2) : nullptr, y);
    };
  });
}

}  // namespace
}  // namespace linear_cpu_blas_cc

Kernel linear_cpu_blas() {
  using namespace linear_cpu_blas_cc;
  return {.name = "cpu:blas", .work = linear::gemm_work, .prepare = prepare, .vendor = true};
}

}  // namespace headroom
