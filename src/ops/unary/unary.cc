#include "ops/unary/unary.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "graph/graph.h"
#include "ops/expect.h"
#include "ops/unary/kernels.h"

namespace headroom {
namespace unary_cc {
namespace {

using unary::Functions;
using unary::HasSlope;

// Of the operator, whichever form it takes.
template <class F>
struct HasGradientOperator : std::bool_constant<HasSlope<F>> {};
template <class F>
requires requires { typename F::Forms; }
struct HasGradientOperator<F> : std::true_type {};

// What a function declares, so that one piece of code serves them all.
struct Declared {
  std::string_view name;
  std::span<const unary::Attribute> attributes;
  std::span<const unary::Trial> trials;
  const unary::FormAttribute& form;
  bool positive_inputs;
  double input_offset;
};
template <class F>
constexpr Declared kDeclared = {F::kName, F::kAttributes,     F::kTrials,
                                F::kForm, F::kPositiveInputs, F::kInputOffset};

void expect_attributes(const Declared& f, const Attrs& attrs) {
  for (const unary::Attribute& attribute : f.attributes) {
    const double value = attrs.real(attribute.name, attribute.fallback);
    if (std::isnan(value)) reject("{}: {} is not a number", f.name, attribute.name);
    if (value < attribute.min)
      reject("{}: {} is {}, but must be at least {}", f.name, attribute.name, value, attribute.min);
  }
  if (f.form.name.empty()) return;
  const auto& words = f.form.words;
  const std::string word = attrs.text(f.form.name, std::string(words[0]));
  if (std::find(words.begin(), words.end(), word) == words.end())
    reject(Hint{fmt::format("{}", fmt::join(words, " or "))}, "{}: {} is '{}'", f.name, f.form.name, word);
}

template <class F>
std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(F::kName, in, 1);
  expect_float(F::kName, in[0]);
  expect_attributes(kDeclared<F>, attrs);
  return {in[0]};
}

std::vector<TensorType> infer_gradient(const Declared& f, const std::vector<TensorType>& in,
                                       const Attrs& attrs) {
  const std::string name = fmt::format("{}_grad", f.name);
  expect_inputs(name, in, 2);
  expect_float(name, in[0]);
  expect_same(name, in[0], in[1]);
  expect_attributes(f, attrs);
  return {in[1]};
}
template <class F>
std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  return infer_gradient(kDeclared<F>, in, attrs);
}

template <class F>
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.outputs[0].shape.numel());
  c.special = F::kSpecial * n;
  c.other = (F::kOther + (p.op.ends_with("_grad") ? 1 : 0)) * n;
  return c;
}

template <class F>
std::vector<ValueId> gradient(const GradientContext& c) {
  const ValueId dy = c.output_gradients[0];
  if constexpr (HasGradientOperator<F>::value) {
    return {c.emit(fmt::format("{}_grad", F::kName), {dy, F::kSlopeFromOutput ? c.output(0) : c.input(0)},
                   c.attrs())};
  } else {
    using Operand = unary::GradientOperator::Operand;
    std::vector<ValueId> operands = {dy};
    if (F::kGradient.operand == Operand::input) operands.push_back(c.input(0));
    if (F::kGradient.operand == Operand::output) operands.push_back(c.output(0));
    return {c.emit(F::kGradient.op, operands)};
  }
}

template <class F>
OpSchema schema() {
  OpSchema s{.name = std::string(F::kName), .infer = infer<F>, .cost = cost<F>};
  if (HasGradientOperator<F>::value || !F::kGradient.op.empty()) s.gradient = gradient<F>;
  s.elementwise = 1;
  s.layer = true;
  s.activation = F::kActivation;
  s.onnx = F::kOnnx;
  s.onnx_opset = F::kOnnxOpset;
  for (const unary::Attribute& a : F::kAttributes) s.attributes.push_back({std::string(a.name), a.fallback});
  if (!F::kForm.name.empty())
    s.attributes.push_back(
        {.name = std::string(F::kForm.name), .words = {F::kForm.words.begin(), F::kForm.words.end()}});
  return s;
}

// Defaults, the trials of the function, and each form.
std::vector<Attrs> attributes_to_try(const Declared& f) {
  std::vector<Attrs> list = {{}};
  for (const unary::Trial& trial : f.trials) {
    Attrs attrs;
    for (const unary::Setting& s : {trial.first, trial.second})
      if (!s.name.empty()) attrs.set(std::string(s.name), s.value);
    list.push_back(attrs);
  }
  if (!f.form.name.empty())
    for (std::string_view word : f.form.words)
      list.push_back({{std::string(f.form.name), std::string(word)}});
  return list;
}

std::vector<Case> cases(const Declared& f, std::size_t inputs) {
  std::vector<Case> list;
  for (const Attrs& attrs : attributes_to_try(f)) {
    auto add = [&](Tier tier, const Shape& shape) {
      Case c{.tier = tier, .inputs = std::vector<Shape>(inputs, shape), .attrs = attrs};
      c.fills = std::vector<Fill>(inputs);
      if (f.positive_inputs) c.fills.back() = {Fill::Kind::positive, f.input_offset};
      list.push_back(std::move(c));
    };
    for (const Shape& shape : std::vector<Shape>{{1}, {7}, {64, 10}, {3, 5, 7, 11}}) add(Tier::ci, shape);
    add(Tier::smoke, {40000});
    add(Tier::perf, {4194304});
    add(Tier::perf, {262144});
  }
  return list;
}

using Prepare = Launcher (*)(const Problem&, const LaunchContext&);

Operator make_operator(OpSchema schema, Prepare cuda, Prepare vectorized, Prepare reference) {
  return {.schema = std::move(schema),
          .kernels = {{.name = "cuda:map",
                       .device = DeviceKind::cuda,
                       .accepts = accepts_cuda_floats,
                       .prepare = cuda,
                       .layouts = Layouts::elementwise},
                      {.name = "cpu:vector", .prepare = vectorized},
                      {.name = "reference", .prepare = reference}}};
}

template <class F>
void add_operators(std::vector<Operator>& list) {
  const Declared& f = kDeclared<F>;
  Operator& op = list.emplace_back(make_operator(schema<F>(), HEADROOM_CUDA(unary::cuda_map<F>),
                                                 unary::vectorized<F>, unary::reference<F>));
  op.cases = cases(f, 1);
  op.exact = F::kExact;
  if constexpr (HasGradientOperator<F>::value) {
    OpSchema schema{.name = fmt::format("{}_grad", f.name),
                    .infer = infer_grad<F>,
                    .cost = cost<F>,
                    .gradient_of = std::string(f.name)};
    list.push_back(make_operator(std::move(schema), HEADROOM_CUDA(unary::cuda_map<F>),
                                 unary::vectorized_grad<F>, unary::reference_grad<F>));
    list.back().cases = cases(f, 2);
  }
}

}  // namespace
}  // namespace unary_cc

std::vector<Operator> unary_operators() {
  using namespace unary_cc;
  std::vector<Operator> list;
  for_each_type(Functions{}, [&]<class F>() { add_operators<F>(list); });
  return list;
}

}  // namespace headroom
