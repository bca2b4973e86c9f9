#include <algorithm>
#include <cmath>

#include "ops/count_correct/count_correct.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/expect.h"

namespace headroom {
namespace cross_entropy_reference_cc {
namespace {

template <class T, class Label>
void forward(const CrossEntropyProblem& p, const LaunchArgs& a) {
  const T* x = a.in<T>(0);
  T* y = a.out<T>(1);
  double total = 0;
  for (std::int64_t r = 0; r < p.rows; ++r, x += p.classes, y += p.classes) {
    const T most = *std::max_element(x, x + p.classes);
    long double sum = 0;  // wider than any kernel's: many classes must not blur the definition
    for (std::int64_t c = 0; c < p.classes; ++c) sum += y[c] = std::exp(x[c] - most);
    for (std::int64_t c = 0; c < p.classes; ++c) y[c] = static_cast<T>(y[c] / sum);
    const std::int64_t label = a.in<Label>(1)[r];
    const bool known = label >= 0 && label < p.classes;
    total += known ? std::log(static_cast<double>(sum)) - (double{x[label]} - double{most}) : std::nan("");
  }
  *a.out<T>(0) = static_cast<T>(total / p.batch);
}

template <class T, class Label>
void backward(const CrossEntropyProblem& p, const LaunchArgs& a) {
  const T* y = a.in<T>(1);
  T* dx = a.out<T>(0);
  for (std::int64_t r = 0; r < p.rows; ++r, y += p.classes, dx += p.classes) {
    const std::int64_t label = a.in<Label>(2)[r];
    const bool known = label >= 0 && label < p.classes;
    for (std::int64_t c = 0; c < p.classes; ++c) {
      const T target = c == label ? T{1} : T{0};
      dx[c] = known ? *a.in<T>(0) * (y[c] - target) / static_cast<T>(p.batch) : static_cast<T>(std::nan(""));
    }
  }
}

}  // namespace
}  // namespace cross_entropy_reference_cc

Launcher cross_entropy_reference(const Problem& problem, const LaunchContext& context) {
  using namespace cross_entropy_reference_cc;
  const CrossEntropyProblem p = cross_entropy_problem(problem);
  Launcher loss = dispatch_float(problem.inputs[0].dtype, [&]<class T>() {
    return dispatch_labels(problem.inputs[1].dtype, [&]<class L>() -> Launcher {
      return [p](const LaunchArgs& a) { forward<T, L>(p, a); };
    });
  });
  return then_count(std::move(loss), problem, context, count_correct_reference);
}

Launcher cross_entropy_grad_reference(const Problem& problem, const LaunchContext&) {
  using namespace cross_entropy_reference_cc;
  const CrossEntropyProblem p = cross_entropy_problem(problem);
  return dispatch_float(problem.inputs[0].dtype, [&]<class T>() {
    return dispatch_labels(problem.inputs[2].dtype, [&]<class L>() -> Launcher {
      return [p](const LaunchArgs& a) { backward<T, L>(p, a); };
    });
  });
}

}  // namespace headroom
