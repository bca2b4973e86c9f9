// "cpu:bf16": the product by the matrix instructions of the processor, with factors rounded to bf16 and sums
// in fp32. "cpu:bf16x6": the same with three parts of each factor, as exact as fp32.
#include "ops/activation/after_gemm.h"
#include "ops/cpu/bf16_kernel.h"
#include "ops/linear/linear.h"

namespace headroom {
namespace linear_cpu_bf16_cc {
namespace {

Launcher prepare(const Problem& p, Bf16Parts parts) {
  return [l = linear_problem(p.inputs, p.attrs), &version = bf16_version(parts)](const LaunchArgs& a) {
    bf16_gemm(version, false, true, l.rows, l.out, l.in, 1, a.in<float>(0), l.in, a.in<float>(1), l.in, 0,
              a.out<float>(0), l.out, bias_and_activation(l.bias ? a.in<float>(2) : nullptr, l.activation));
  };
}

ProductExtent extent_of(const Problem& p, const Target&) {
  const LinearProblem l = linear_problem(p.inputs, p.attrs);
  return {l.rows, l.out, l.in};
}

}  // namespace
}  // namespace linear_cpu_bf16_cc

Kernel linear_cpu_bf16() {
  using namespace linear_cpu_bf16_cc;
  return bf16_kernel(Bf16Parts::one, extent_of, prepare);
}

Kernel linear_cpu_bf16x6() {
  using namespace linear_cpu_bf16_cc;
  return bf16_kernel(Bf16Parts::three, extent_of, prepare);
}

}  // namespace headroom
