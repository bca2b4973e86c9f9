#include "ops/linear/linear.h"

namespace headroom {
namespace linear_reference_cc {
namespace {

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [l = linear_problem(p.inputs, p.attrs)](const LaunchArgs& a) {
      const T *x = a.in<T>(0), *w = a.in<T>(1), *bias = l.bias ? a.in<T>(2) : nullptr;
      T* y = a.out<T>(0);
      for (std::int64_t n = 0; n < l.rows; ++n)
        for (std::int64_t m = 0; m < l.out; ++m) {
          T sum = bias ? bias[m] : T{0};
          for (std::int64_t k = 0; k < l.in; ++k) sum += x[n * l.in + k] * w[m * l.in + k];
          y[n * l.out + m] = activate_scalar(l.activation, sum);
        }
    };
  });
}

}  // namespace
}  // namespace linear_reference_cc

Kernel linear_reference() {
  using namespace linear_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
