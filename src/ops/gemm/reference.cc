#include "ops/gemm/gemm.h"

namespace headroom {
namespace gemm_reference_cc {
namespace {

template <class T>
void by_hand(const GemmProblem& p, const T* a, const T* b, const T* add, T* out) {
  const T alpha = static_cast<T>(p.alpha), beta = static_cast<T>(p.beta);
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k)
        sum += a[i * p.a_row() + k * p.a_k()] * b[k * p.b_k() + j * p.b_column()];
      out[i * p.n + j] = alpha * sum + (p.adds() ? beta * add[i * p.n + j] : T{0});
    }
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = gemm_problem(problem.inputs, problem.attrs)](const LaunchArgs& args) {
      by_hand(p, args.in<T>(0), args.in<T>(1), p.adds() ? args.in<T>(2) : nullptr, args.out<T>(0));
    };
  });
}

}  // namespace
}  // namespace gemm_reference_cc

Kernel gemm_reference() {
  using namespace gemm_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
