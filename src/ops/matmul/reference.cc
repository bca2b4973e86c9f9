#include "ops/matmul/matmul.h"

namespace headroom {
namespace matmul_reference_cc {
namespace {

template <class T>
void product_by_hand(const MatmulProblem& p, const T* a, const T* b, T* c) {
  for (std::int64_t i = 0; i < p.m; ++i)
    for (std::int64_t j = 0; j < p.n; ++j) {
      T sum = 0;
      for (std::int64_t k = 0; k < p.k; ++k)
        sum += a[p.trans_a ? k * p.lda + i : i * p.lda + k] * b[p.trans_b ? j * p.ldb + k : k * p.ldb + j];
      c[i * p.n + j] = sum;
    }
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = matmul_problem(problem.inputs, problem.attrs),
            slope = matmul_slope(problem.attrs)](const LaunchArgs& args) {
      T* c = args.out<T>(0);
      for (std::size_t i = 0; i < p.a.size(); ++i)
        product_by_hand(p, args.in<T>(0) + p.a[i], args.in<T>(1) + p.b[i],
                        c + static_cast<std::int64_t>(i) * p.m * p.n);
      if (slope == Activation::none) return;
      for (std::int64_t i = 0; i < p.count() * p.m * p.n; ++i)
        c[i] *= slope_from_output(slope, args.in<T>(2)[i]);
    };
  });
}

}  // namespace
}  // namespace matmul_reference_cc

Kernel matmul_reference() {
  using namespace matmul_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
