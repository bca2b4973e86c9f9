#include "ops/unary/unary.h"

#include <limits>

#include "graph/graph.h"
#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/unary/lanewise.h"
#include "ops/unary/piecewise.h"
#include "ops/unary/smooth.h"

namespace headroom {

Knobs<double> knobs_of(std::string_view op, const Attrs& attrs) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (op.starts_with("clip")) return {attrs.real("min", -kInfinity), attrs.real("max", kInfinity)};
  if (op.starts_with("threshold")) return {attrs.real("threshold"), attrs.real("value")};
  const double alpha = op.starts_with("leaky_relu") ? 0.01 : op.starts_with("hard_sigmoid") ? 0.2 : 1;
  return {attrs.real("alpha", alpha), attrs.real("beta", 0.5)};
}

namespace {

template <class T>
Knobs<T> knobs_as(const Problem& p) {
  const Knobs<double> k = knobs_of(p.op, p.attrs);
  return {static_cast<T>(k.a), static_cast<T>(k.b)};
}

void expect_attrs(const Attrs& attrs) {
  for (const char* name : {"alpha", "beta", "min", "max", "threshold", "value"})
    if (std::isnan(attrs.real(name))) reject("'{}' is not a number", name);
  if (const std::string how = attrs.text("approximate", "none"); how != "none" && how != "tanh")
    reject(Hint{"none or tanh"}, "gelu: approximate is '{}'", how);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("a function of one element", in, 1);
  expect_float("a function of one element", in[0]);
  expect_attrs(attrs);
  return {in[0]};
}

std::vector<TensorType> infer_elu(const std::vector<TensorType>& in, const Attrs& attrs) {
  if (attrs.real("alpha", 1) < 0) reject("elu: alpha is {}, but must not be negative", attrs.real("alpha"));
  return infer(in, attrs);
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("the gradient of a function of one element", in, 2);
  expect_float("the gradient of a function of one element", in[0]);
  expect_same("the gradient of a function of one element", in[0], in[1]);
  expect_attrs(attrs);
  return {in[1]};
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
  const std::string op = c.graph.node(c.node).op + "_grad";
  return {c.emit(op, {c.output_gradients[0], F::kFromOutput ? c.output(0) : c.input(0)}, c.attrs())};
}

std::vector<ValueId> gradient_exp(const GradientContext& c) {
  return {c.emit("mul", {c.output_gradients[0], c.output(0)})};
}
std::vector<ValueId> gradient_log(const GradientContext& c) {
  return {c.emit("div", {c.output_gradients[0], c.input(0)})};
}
std::vector<ValueId> gradient_neg(const GradientContext& c) {
  return {c.emit("neg", {c.output_gradients[0]})};
}

template <class F>
Launcher reference(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [k = knobs_as<T>(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      for (std::int64_t i = 0; i < n; ++i) a.out<T>(0)[i] = F::template at<T>(a.in<T>(0)[i], k);
    };
  });
}

template <class F>
Launcher reference_grad(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [k = knobs_as<T>(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      for (std::int64_t i = 0; i < n; ++i)
        a.out<T>(0)[i] = a.in<T>(0)[i] * F::template slope<T>(a.in<T>(1)[i], k);
    };
  });
}

template <class F, class T>
void map_piece(std::int64_t n, const T* x, T* y, const Knobs<T>& k) {
  const auto careful = [k](Vec<T> v) { return F::template map<T>(v, k); };
  if constexpr (requires(Vec<T> v) { F::template simple<T>(v); })
    simd::map_checked(
        n, x, y, [](Vec<T> v) { return F::template is_simple<T>(v); },
        [](Vec<T> v) { return F::template simple<T>(v); }, careful);
  else
    simd::map<F::kSpecial == 0 ? 8 : 4>(n, x, y, careful);
}

template <class F>
Launcher vectorized(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [k = knobs_as<T>(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      const T* x = a.in<T>(0);
      T* y = a.out<T>(0);
      constexpr std::int64_t kBlock = simd::kCheckedBlock;
      parallel_for((n + kBlock - 1) / kBlock, kElementwiseGrain / kBlock,
                   [=](std::int64_t begin, std::int64_t end, int) {
                     const std::int64_t from = begin * kBlock;
                     map_piece<F, T>(std::min(n, end * kBlock) - from, x + from, y + from, k);
                   });
    };
  });
}

template <class F>
Launcher vectorized_grad(const Problem& p, const Capabilities&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [k = knobs_as<T>(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
      const T *dy = a.in<T>(0), *v = a.in<T>(1);
      T* dx = a.out<T>(0);
      parallel_for(n, kElementwiseGrain, [=](std::int64_t begin, std::int64_t end, int) {
        simd::map2(end - begin, dy + begin, v + begin, dx + begin,
                   [k](Vec<T> g, Vec<T> x) { return F::template grad<T>(g, x, k); });
      });
    };
  });
}

constexpr Kernel kCuda{.name = "cuda:map",
                       .device = DeviceKind::cuda,
                       .accepts = accepts_cuda_floats,
                       .prepare = HEADROOM_CUDA(prepare_unary_cuda),
                       .layouts = Layouts::elementwise};

using Prepare = Launcher (*)(const Problem&, const Capabilities&);

// gelu is two functions under one name.
template <Prepare exact, Prepare by_tanh>
Launcher by_attr(const Problem& p, const Capabilities& c) {
  return p.attrs.text("approximate", "none") == "tanh" ? by_tanh(p, c) : exact(p, c);
}

struct Trial {
  Attrs attrs = {};
  Fill fill = {};
};

std::vector<Case> cases_of(const std::vector<Trial>& trials, std::size_t inputs) {
  std::vector<Case> cases;
  for (const Trial& trial : trials) {
    auto add = [&](Tier tier, const Shape& shape) {
      Case c{.tier = tier, .inputs = std::vector<Shape>(inputs, shape), .attrs = trial.attrs};
      c.fills = std::vector<Fill>(inputs);
      c.fills.back() = trial.fill;
      cases.push_back(std::move(c));
    };
    for (const Shape& shape : std::vector<Shape>{{1}, {7}, {64, 10}, {3, 5, 7, 11}}) add(Tier::ci, shape);
    add(Tier::smoke, {40000});
    add(Tier::perf, {4194304});
    add(Tier::perf, {262144});
  }
  return cases;
}

template <class F>
Operator function(const std::string& name, const std::vector<Trial>& trials = {{}}) {
  return {.schema = {.name = name, .infer = infer, .cost = cost<F>},
          .kernels = {kCuda,
                      {.name = "cpu:vector", .prepare = vectorized<F>},
                      {.name = "reference", .prepare = reference<F>}},
          .cases = cases_of(trials, 1)};
}

template <class F>
void add_with_gradient(std::vector<Operator>& list, const std::string& name,
                       const std::vector<Trial>& trials = {{}}) {
  list.push_back(function<F>(name, trials));
  list.back().schema.gradient = gradient<F>;
  list.push_back({.schema = {.name = name + "_grad", .infer = infer_grad, .cost = cost<F>},
                  .kernels = {kCuda,
                              {.name = "cpu:vector", .prepare = vectorized_grad<F>},
                              {.name = "reference", .prepare = reference_grad<F>}},
                  .cases = cases_of(trials, 2)});
}

}  // namespace

std::vector<Operator> unary_operators() {
  using namespace unary;
  const Fill positive{Fill::Kind::positive};
  std::vector<Operator> list = {function<Exp>("exp"), function<Log>("log", {{.fill = positive}}),
                                function<Neg>("neg")};
  list[0].schema.gradient = gradient_exp;
  list[1].schema.gradient = gradient_log;
  list[2].schema.gradient = gradient_neg;
  list[2].exact = true;
  add_with_gradient<Sqrt>(list, "sqrt", {{.fill = positive}});
  add_with_gradient<Abs>(list, "abs");
  add_with_gradient<Erf>(list, "erf");
  add_with_gradient<LeakyRelu>(list, "leaky_relu", {{}, {.attrs = {{"alpha", 0.25}}}});
  add_with_gradient<Elu>(list, "elu", {{}, {.attrs = {{"alpha", 0.5}}}});
  for (std::size_t i : {list.size() - 2}) list[i].schema.infer = infer_elu;
  add_with_gradient<Clip>(list, "clip",
                          {{.attrs = {{"min", -0.5}, {"max", 0.75}}}, {.attrs = {{"min", 0.0}}}});
  add_with_gradient<Threshold>(list, "threshold", {{}, {.attrs = {{"threshold", 0.25}, {"value", -2.0}}}});
  add_with_gradient<HardSigmoid>(list, "hard_sigmoid", {{}, {.attrs = {{"alpha", 0.5}, {"beta", 0.25}}}});
  add_with_gradient<HardSwish>(list, "hard_swish");
  list.push_back(function<Floor>("floor"));
  list.push_back(function<Ceil>("ceil"));
  list.push_back(function<Round>("round"));
  list.push_back(function<Sign>("sign"));
  add_with_gradient<Sin>(list, "sin");
  add_with_gradient<Cos>(list, "cos");
  add_with_gradient<Softplus>(list, "softplus");
  add_with_gradient<Gelu>(list, "gelu", {{}, {.attrs = {{"approximate", std::string("tanh")}}}});
  Operator &forward = list[list.size() - 2], &backward = list.back();
  forward.kernels[1].prepare = by_attr<vectorized<Gelu>, vectorized<GeluTanh>>;
  forward.kernels[2].prepare = by_attr<reference<Gelu>, reference<GeluTanh>>;
  backward.kernels[1].prepare = by_attr<vectorized_grad<Gelu>, vectorized_grad<GeluTanh>>;
  backward.kernels[2].prepare = by_attr<reference_grad<Gelu>, reference_grad<GeluTanh>>;
  return list;
}

}  // namespace headroom
