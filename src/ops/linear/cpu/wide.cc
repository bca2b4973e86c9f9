// Where a run must follow one in fp64 as closely as fp32 can: sums in fp64, rounded once.
#include "ops/cpu/gemm.h"
#include "ops/linear/cpu/after_gemm.h"

namespace headroom {
namespace linear_cpu_wide_cc {
namespace {

// Bias and activation in fp64, each result rounded once: the few outputs of the layers that ask for this are
// no loss of time.
void finish_rows_wide(const LinearProblem& l, const float* bias, float* y) {
  if (bias == nullptr && l.activation == Activation::none) return;
  parallel_for(l.rows, std::max<std::int64_t>(1, kElementwiseGrain / l.out),
               [&](std::int64_t begin, std::int64_t end, int) {
                 for (std::int64_t i = begin * l.out; i < end * l.out; ++i)
                   y[i] = static_cast<float>(
                       activate_scalar(l.activation, double{y[i]} + (bias ? double{bias[i % l.out]} : 0.0)));
               });
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return [l = linear_problem(p.inputs, p.attrs)](const LaunchArgs& a) {
    float* y = a.out<float>(0);
    gemm_wide(false, true, l.rows, l.out, l.in, a.in<float>(0), l.in, a.in<float>(1), l.in, y, l.out,
              a.workspace);
    finish_rows_wide(l, l.bias ? a.in<float>(2) : nullptr, y);
  };
}

std::size_t workspace(const Problem& p, const Target&) {
  const LinearProblem l = linear_problem(p.inputs, p.attrs);
  return wide_scratch_bytes(l.rows, l.out, l.in);
}

Work work(const Problem& p, const Target& target) {
  Work work = linear::gemm_work(p, target);
  work.with("cpu.gemm.fp64_sums", Unit::fp64, work.main().extent);
  return work.add_bytes(2 * double(workspace(p, target)));
}

}  // namespace
}  // namespace linear_cpu_wide_cc

Kernel linear_cpu_wide() {
  using namespace linear_cpu_wide_cc;
  return {.name = "cpu:wide",
          .accepts = accepts_cpu_fp32,
          .work = work,
          .prepare = prepare,
          .workspace = workspace};
}

}  // namespace headroom
