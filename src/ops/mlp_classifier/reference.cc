#include <span>

#include "ops/classifier_head/classifier_head.h"
#include "ops/expect.h"
#include "ops/mlp_classifier/mlp_classifier.h"

namespace headroom {
namespace mlp_classifier_reference_cc {
namespace {

template <class T>
using Sum = std::conditional_t<std::is_same_v<T, double>, long double, double>;

template <class T>
std::vector<T> hidden_layer(const MlpClassifierProblem& p, const LaunchArgs& a) {
  const T *x = a.in<T>(0), *w = a.in<T>(1), *bias = a.in<T>(2);
  std::vector<T> h;
  h.reserve(static_cast<std::size_t>(p.rows * p.hidden));
  for (std::int64_t r = 0; r < p.rows; ++r)
    for (std::int64_t j = 0; j < p.hidden; ++j) {
      Sum<T> sum = bias[j];
      for (std::int64_t k = 0; k < p.inputs; ++k) sum += x[r * p.inputs + k] * w[j * p.inputs + k];
      h.push_back(activate_scalar(p.activation, static_cast<T>(sum)));
    }
  return h;
}

template <class T>
void weight_gradient(const MlpClassifierProblem& p, const std::vector<T>& dz, const T* x, T* dw) {
  std::vector<Sum<T>> sums(static_cast<std::size_t>(p.hidden * p.inputs));
  for (std::int64_t r = 0; r < p.rows; ++r)
    for (std::int64_t j = 0; j < p.hidden; ++j)
      for (std::int64_t k = 0; k < p.inputs; ++k)
        sums[static_cast<std::size_t>(j * p.inputs + k)] +=
            dz[static_cast<std::size_t>(r * p.hidden + j)] * x[r * p.inputs + k];
  std::copy(sums.begin(), sums.end(), dw);
}

// Parameter and gradient become the new parameter, which takes the old one's place.
template <class T>
void update(T rate, T l2, const std::vector<T>& gradient, const T* parameter, T* to) {
  for (std::size_t i = 0; i < gradient.size(); ++i)
    to[i] = parameter[i] - rate * (gradient[i] + l2 * parameter[i]);
}

template <class T>
T penalty(const MlpClassifierProblem& p, const LaunchArgs& a, std::span<const std::int64_t> sizes) {
  double sum = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    for (std::int64_t k = 0; k < sizes[i]; ++k)
      sum += p.l2[i] / 2 * double{a.in<T>(1 + i)[k]} * double{a.in<T>(1 + i)[k]};
  return static_cast<T>(sum);
}

// The head's own reference does the rest. All gradients follow from the old parameters.
template <class T>
void run(const MlpClassifierProblem& p, const Launcher& head, const LaunchArgs& a) {
  const std::vector<T> h = hidden_layer<T>(p, a);
  std::vector<T> dz(h.size());
  const std::int64_t sizes[] = {p.hidden * p.inputs, p.hidden, p.classes * p.hidden, p.classes};
  std::vector<T> gradients[MlpClassifierProblem::kParameters];  // of w1, b1, w2, b2
  for (std::size_t i = 0; i < std::size(gradients); ++i)
    gradients[i].resize(static_cast<std::size_t>(sizes[i]));
  const void* const in[] = {h.data(), a.inputs[3], a.inputs[4], a.inputs[5]};
  void* const out[] = {a.outputs[0],        a.outputs[1],        dz.data(),
                       gradients[2].data(), gradients[3].data(), gradients[1].data()};
  head({.inputs = in, .outputs = out, .workspace = nullptr, .stream = a.stream});
  weight_gradient(p, dz, a.in<T>(0), gradients[0].data());
  if (p.penalty) *a.out<T>(0) += penalty<T>(p, a, sizes);
  for (std::size_t i = 0; i < std::size(gradients); ++i)
    if (p.updates)
      update(static_cast<T>(*a.in<double>(6)), static_cast<T>(p.l2[i]), gradients[i], a.in<T>(1 + i),
             a.out<T>(2 + i));
    else
      std::copy(gradients[i].begin(), gradients[i].end(), a.out<T>(2 + i));
}

Launcher tally_reference(const Problem& problem, const LaunchContext& context) {
  const Problem tally{.op = "tally",
                      .inputs = {problem.outputs[0], problem.outputs[1], problem.inputs[7]},
                      .outputs = {problem.inputs[7]},
                      .attrs = {{"count", problem.attrs.integer("count", 1)}}};
  return operator_of(tally.op).kernels.back().prepare(tally, context);
}

}  // namespace
}  // namespace mlp_classifier_reference_cc

Launcher mlp_classifier_reference(const Problem& problem, const LaunchContext& context) {
  using namespace mlp_classifier_reference_cc;
  const MlpClassifierProblem p = mlp_classifier_problem(problem);
  const TensorType h{{p.rows, p.hidden}, problem.inputs[0].dtype};
  Problem head{.op = "classifier_head",
               .inputs = {h, problem.inputs[3], problem.inputs[4], problem.inputs[5]},
               .outputs = {},
               .attrs = {{"activation_grad", problem.attrs.text("activation")}}};
  head.outputs = schema_of(head.op).infer(head.inputs, head.attrs);
  return dispatch_float(problem.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [p, rest = classifier_head_reference(head, context),
            tally = p.tallies ? tally_reference(problem, context) : Launcher()](const LaunchArgs& a) {
      run<T>(p, rest, a);
      if (!p.tallies) return;
      const void* const in[] = {a.outputs[0], a.outputs[1], a.inputs[7]};
      tally({.inputs = in, .outputs = a.outputs + 6, .workspace = nullptr, .stream = a.stream});
    };
  });
}

}  // namespace headroom
