#include <algorithm>
#include <cmath>

#include "ops/classifier_head/classifier_head.h"
#include "ops/expect.h"
#include "ops/fp16_parts/fp16_parts.h"

namespace headroom {
namespace classifier_head_reference_cc {
namespace {

template <class T>
using Sums = std::vector<std::conditional_t<std::is_same_v<T, double>, long double, double>>;

// One row's scores become its part of d; returns its loss.
template <class T>
double slopes_of_row(const HeadProblem& p, std::int64_t label, std::vector<T>& scores) {
  const bool known = label >= 0 && label < p.classes;
  const T most = *std::max_element(scores.begin(), scores.end());
  const double own = known ? double{scores[static_cast<std::size_t>(label)]} - double{most} : std::nan("");
  long double sum = 0;
  for (T& score : scores) sum += score = std::exp(score - most);
  for (std::int64_t c = 0; c < p.classes; ++c) {
    T& d = scores[static_cast<std::size_t>(c)];
    d = known ? (static_cast<T>(d / sum) - (c == label ? T{1} : T{0})) / static_cast<T>(p.rows)
              : static_cast<T>(std::nan(""));
  }
  return std::log(static_cast<double>(sum)) - own;
}

template <class T, class Label>
void run(const HeadProblem& p, const LaunchArgs& a) {
  const T *h = a.in<T>(0), *w = a.in<T>(1), *bias = a.in<T>(2);
  const auto classes = static_cast<std::size_t>(p.classes), inputs = static_cast<std::size_t>(p.inputs);
  std::vector<T> own(p.parts > 0 ? static_cast<std::size_t>(p.rows) * inputs : 0);
  T* const all_dz = p.parts > 0 ? own.data() : a.out<T>(2);
  T* dz = all_dz;
  Sums<T> dw(classes * inputs), dbias(classes), dh_bias(inputs);
  std::vector<T> scores(classes);
  double loss = 0;
  std::int64_t correct = 0;
  for (std::int64_t r = 0; r < p.rows; ++r, h += inputs, dz += inputs) {
    for (std::size_t c = 0; c < classes; ++c) {
      long double sum = bias[c];
      for (std::size_t k = 0; k < inputs; ++k) sum += h[k] * w[c * inputs + k];
      scores[c] = static_cast<T>(sum);
    }
    const std::int64_t label = a.in<Label>(3)[r];
    correct += std::max_element(scores.begin(), scores.end()) - scores.begin() == label;
    loss += slopes_of_row(p, label, scores);
    for (std::size_t c = 0; c < classes; ++c) dbias[c] += scores[c];
    for (std::size_t k = 0; k < inputs; ++k) {
      long double sum = 0;
      for (std::size_t c = 0; c < classes; ++c) {
        sum += scores[c] * w[c * inputs + k];
        dw[c * inputs + k] += scores[c] * h[k];
      }
      dz[k] = static_cast<T>(sum) * slope_from_output(p.slope, h[k]);
      dh_bias[k] += dz[k];
    }
  }
  *a.out<T>(0) = static_cast<T>(loss / static_cast<double>(p.rows));
  *a.out<T>(1) = static_cast<T>(correct);
  std::copy(dw.begin(), dw.end(), a.out<T>(3));
  std::copy(dbias.begin(), dbias.end(), a.out<T>(4));
  std::copy(dh_bias.begin(), dh_bias.end(), a.out<T>(5));
  if (p.parts > 0) {
    const PartsProblem parts{p.rows, p.inputs, p.ld, p.parts};
    const T *w_end = w + classes * inputs,
            *most = std::max_element(w, w_end, [](T x, T y) { return std::abs(x) < std::abs(y); });
    write_parts(parts, all_dz, 2 * std::abs(double(*most)) / double(p.rows), a.out<T>(2), a.out<T>(6));
  }
}

}  // namespace
}  // namespace classifier_head_reference_cc

Launcher classifier_head_reference(const Problem& problem, const LaunchContext&) {
  using namespace classifier_head_reference_cc;
  return dispatch_float(problem.inputs[0].dtype, [&]<class T>() {
    return dispatch_labels(problem.inputs[3].dtype, [&]<class L>() -> Launcher {
      return [p = head_problem(problem)](const LaunchArgs& a) { run<T, L>(p, a); };
    });
  });
}

}  // namespace headroom
