#include <cmath>

#include "ops/softmax/softmax.h"

namespace headroom {
namespace softmax_reference_cc {
namespace {

// Element k of each line lies at k * step.
template <class T>
void forward(const SoftmaxProblem& p, const T* x, T* y) {
  const std::int64_t n = p.length, step = p.inner;
  T most = x[0];
  for (std::int64_t k = 1; k < n; ++k) most = x[k * step] > most ? x[k * step] : most;
  long double sum = 0;  // wider than any kernel's: a long line must not blur the definition
  for (std::int64_t k = 0; k < n; ++k) sum += y[k * step] = std::exp(x[k * step] - most);
  for (std::int64_t k = 0; k < n; ++k)
    y[k * step] = static_cast<T>(p.log ? (x[k * step] - most) - std::log(sum) : y[k * step] / sum);
}

template <class T>
void backward(const SoftmaxProblem& p, const T* dy, const T* y, T* dx) {
  const std::int64_t n = p.length, step = p.inner;
  long double sum = 0;
  for (std::int64_t k = 0; k < n; ++k)
    sum += p.log ? dy[k * step] : static_cast<long double>(dy[k * step]) * y[k * step];
  for (std::int64_t k = 0; k < n; ++k)
    dx[k * step] = static_cast<T>(p.log ? dy[k * step] - std::exp(y[k * step]) * sum
                                        : y[k * step] * (dy[k * step] - sum));
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = softmax_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t o = 0; o < p.outer; ++o)
        for (std::int64_t i = 0; i < p.inner; ++i) {
          const std::int64_t at = o * p.length * p.inner + i;
          if (p.backward)
            backward(p, a.in<T>(0) + at, a.in<T>(1) + at, a.out<T>(0) + at);
          else
            forward(p, a.in<T>(0) + at, a.out<T>(0) + at);
        }
    };
  });
}

}  // namespace
}  // namespace softmax_reference_cc

Kernel softmax_reference() {
  using namespace softmax_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
