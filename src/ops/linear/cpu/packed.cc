// The product by our own loops; each tile gets its bias and its activation while it is in a cache.
#include "ops/activation/after_gemm.h"
#include "ops/linear/linear.h"

namespace headroom {
namespace linear_cpu_packed_cc {
namespace {

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [l = linear_problem(p.inputs, p.attrs)](const LaunchArgs& a) {
      gemm(false, true, l.rows, l.out, l.in, T{1}, a.in<T>(0), l.in, a.in<T>(1), l.in, T{0}, a.out<T>(0),
           l.out, bias_and_activation(l.bias ? a.in<T>(2) : nullptr, l.activation));
    };
  });
}

Work work(const Problem& p, const Target& target) {
  const LinearProblem l = linear_problem(p.inputs, p.attrs);
  return least_work(p, target).with("cpu.gemm", ordinary_unit(p.outputs[0].dtype), {l.rows, l.out, l.in});
}

}  // namespace
}  // namespace linear_cpu_packed_cc

Kernel linear_cpu_packed() {
  using namespace linear_cpu_packed_cc;
  return {.name = "cpu:packed", .work = work, .prepare = prepare};
}

}  // namespace headroom
