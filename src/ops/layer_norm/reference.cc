#include <cmath>

#include "ops/layer_norm/layer_norm.h"

namespace headroom {
namespace layer_norm_reference_cc {
namespace {

template <class T>
void forward_row(std::int64_t n, double epsilon, const T* x, const T* scale, const T* bias, T* y,
                 double& mean, double& inv_std) {
  long double sum = 0, squares = 0;  // wider than any kernel's
  for (std::int64_t i = 0; i < n; ++i) sum += x[i];
  mean = static_cast<double>(sum / n);
  for (std::int64_t i = 0; i < n; ++i) squares += (x[i] - mean) * (x[i] - mean);
  inv_std = 1 / std::sqrt(static_cast<double>(squares / n) + epsilon);
  for (std::int64_t i = 0; i < n; ++i) y[i] = static_cast<T>((x[i] - mean) * inv_std * scale[i] + bias[i]);
}

Launcher prepare_forward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = layer_norm_problem(problem)](const LaunchArgs& a) {
      for (std::int64_t r = 0; r < p.rows; ++r)
        forward_row(p.columns, p.epsilon, a.in<T>(0) + r * p.columns, a.in<T>(1), a.in<T>(2),
                    a.out<T>(0) + r * p.columns, a.out<double>(1)[r], a.out<double>(2)[r]);
    };
  });
}

Launcher prepare_backward(const Problem& problem) {
  return dispatch_float(problem.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [p = layer_norm_problem(problem)](const LaunchArgs& a) {
      const T* dy = a.in<T>(0);
      const T* scale = a.in<T>(2);
      const std::int64_t n = p.columns;
      auto normal = [&](std::int64_t r, std::int64_t c) {
        return (a.in<T>(1)[r * n + c] - a.in<double>(3)[r]) * a.in<double>(4)[r];
      };
      for (std::int64_t r = 0; r < p.rows; ++r) {
        long double sum = 0, product = 0;
        for (std::int64_t c = 0; c < n; ++c) {
          const double g = double{dy[r * n + c]} * scale[c];
          sum += g, product += g * normal(r, c);
        }
        for (std::int64_t c = 0; c < n; ++c)
          a.out<T>(0)[r * n + c] =
              static_cast<T>(a.in<double>(4)[r] *
                             (double{dy[r * n + c]} * scale[c] -
                              static_cast<double>(sum + normal(r, c) * product) / static_cast<double>(n)));
      }
      for (std::int64_t c = 0; c < n; ++c) {
        long double dscale = 0, dbias = 0;
        for (std::int64_t r = 0; r < p.rows; ++r)
          dscale += dy[r * n + c] * normal(r, c), dbias += dy[r * n + c];
        a.out<T>(1)[c] = static_cast<T>(dscale), a.out<T>(2)[c] = static_cast<T>(dbias);
      }
    };
  });
}

Launcher prepare(const Problem& problem, const LaunchContext&) {
  return layer_norm_problem(problem).backward ? prepare_backward(problem) : prepare_forward(problem);
}

}  // namespace
}  // namespace layer_norm_reference_cc

Kernel layer_norm_reference() {
  using namespace layer_norm_reference_cc;
  return {.name = "reference", .prepare = prepare};
}

}  // namespace headroom
