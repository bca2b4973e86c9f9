// The product by the matrix instructions of the processor, with factors rounded to bf16 and sums in fp32.
#include "ops/activation/after_gemm.h"
#include "ops/cpu/bf16_gemm.h"
#include "ops/cpu/bf16_pays.h"
#include "ops/linear/linear.h"

namespace headroom {
namespace linear_cpu_bf16_cc {
namespace {

Launcher prepare(const Problem& p, const LaunchContext&) {
  return [l = linear_problem(p.inputs, p.attrs)](const LaunchArgs& a) {
    bf16_gemm(false, true, l.rows, l.out, l.in, 1, a.in<float>(0), l.in, a.in<float>(1), l.in, 0,
              a.out<float>(0), l.out, bias_and_activation(l.bias ? a.in<float>(2) : nullptr, l.activation));
  };
}

Work work(const Problem& p, const Target& target) {
  const LinearProblem l = linear_problem(p.inputs, p.attrs);
  return least_work(p, target).with("cpu.bf16", Unit::bf16, {l.rows, l.out, l.in});
}

Verdict pays(const Problem& p, const Target&) {
  const LinearProblem l = linear_problem(p.inputs, p.attrs);
  return bf16_pays({l.rows, l.out, l.in});
}

}  // namespace
}  // namespace linear_cpu_bf16_cc

Kernel linear_cpu_bf16() {
  using namespace linear_cpu_bf16_cc;
  return {.name = "cpu:bf16", .accepts = accepts_cpu_bf16, .pays = pays, .work = work, .prepare = prepare};
}

}  // namespace headroom
