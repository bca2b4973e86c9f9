#include <cstring>
#include <type_traits>

#include "ops/cpu/parallel.h"
#include "ops/cuda/tensor_table.h"
#include "ops/updates/rules.h"

namespace headroom {
namespace updates_kernels_cc {
namespace {

using namespace updates;

// One tensor's values, from the element a piece begins at. Outputs share storage with inputs: each element is
// read whole before it is written.
template <class T, int kStates>
struct Pointers {
  const T* p;
  const T* g;
  T* p_out;
  const T* s[kStates + 1];
  T* s_out[kStates + 1];

  Pointers(const LaunchArgs& a, const UpdateLayout& layout, std::size_t tensor, std::int64_t from) {
    const std::size_t in = layout.in(tensor), out = layout.out(tensor);
    p = a.in<T>(in) + from, g = a.in<T>(in + 1) + from, p_out = a.out<T>(out) + from;
    for (std::size_t k = 0; k < kStates; ++k)
      s[k] = a.in<T>(in + 2 + k) + from, s_out[k] = a.out<T>(out + 1 + k) + from;
  }
};

template <class V, class Rule, class T>
V next(const Rule& rule, bool decoupled, T l2, T keep, V p, V g, V* states) {
  return decoupled ? rule.next(p * keep, g, states) : rule.next(p, g + l2 * p, states);
}

template <bool kDecoupled, class Rule, class T>
void one_by_one(const Rule& rule, T l2, T keep, std::int64_t n, const Pointers<T, Rule::kStates>& at) {
  for (std::int64_t i = 0; i < n; ++i) {
    T states[Rule::kStates + 1];
    for (int k = 0; k < Rule::kStates; ++k) states[k] = at.s[k][i];
    at.p_out[i] = next<T>(rule, kDecoupled, l2, keep, at.p[i], at.g[i], states);
    for (int k = 0; k < Rule::kStates; ++k) at.s_out[k][i] = states[k];
  }
}

// As the first, in fp64: each result is rounded once.
template <bool kDecoupled, class Rule>
void widened(const Rule& rule, double l2, double keep, std::int64_t n,
             const Pointers<float, Rule::kStates>& at) {
  for (std::int64_t i = 0; i < n; ++i) {
    double states[Rule::kStates + 1];
    for (int k = 0; k < Rule::kStates; ++k) states[k] = at.s[k][i];
    at.p_out[i] = static_cast<float>(
        next<double>(rule, kDecoupled, l2, keep, double{at.p[i]}, double{at.g[i]}, states));
    for (int k = 0; k < Rule::kStates; ++k) at.s_out[k][i] = static_cast<float>(states[k]);
  }
}

// The tail goes through padded registers: the same arithmetic, so that where a piece ends changes no bit.
template <bool kDecoupled, class Rule, class T>
void in_vectors(const Rule& rule, T l2, T keep, std::int64_t n, const Pointers<T, Rule::kStates>& at) {
  using V = simd::Vec<T>;
  constexpr int kN = Rule::kStates, kLanes = simd::kLanes<T>;
  std::int64_t i = 0;
#pragma GCC unroll 4
  for (; i + kLanes <= n; i += kLanes) {
    V states[kN + 1];
    for (int k = 0; k < kN; ++k) states[k] = simd::load(at.s[k] + i);
    const V p = next<V>(rule, kDecoupled, l2, keep, simd::load(at.p + i), simd::load(at.g + i), states);
    simd::store(at.p_out + i, p);
    for (int k = 0; k < kN; ++k) simd::store(at.s_out[k] + i, states[k]);
  }
  if (i == n) return;
  const auto bytes = static_cast<std::size_t>(n - i) * sizeof(T);
  V p{}, g{}, states[kN + 1] = {};
  std::memcpy(&p, at.p + i, bytes);
  std::memcpy(&g, at.g + i, bytes);
  for (int k = 0; k < kN; ++k) std::memcpy(&states[k], at.s[k] + i, bytes);
  p = next<V>(rule, kDecoupled, l2, keep, p, g, states);
  std::memcpy(at.p_out + i, &p, bytes);
  for (int k = 0; k < kN; ++k) std::memcpy(at.s_out[k] + i, &states[k], bytes);
}

enum class Sweep { reference, vectors, wide };

// T is what rules compute in; tensors are of the same type, or of fp32 where they are widened.
template <const UpdateRule& kRule, class T, class Rule>
Launcher launcher(const Problem& problem, Sweep how) {
  return [update = update_problem(kRule, problem), bound = Rule(settings_of(kRule, problem.attrs)),
          how](const LaunchArgs& a) {
    const double rate = *a.in<double>(0);
    Rule rule = bound;
    rule.begin(rate, kRule.counts_steps ? *a.in<double>(1) : 0);
    auto piece = [&](std::size_t i, std::int64_t from, std::int64_t to) {
      const T l2 = static_cast<T>(update.l2[i]), keep = static_cast<T>(1 - rate * update.l2[i]);
      if constexpr (std::is_same_v<T, double>)
        if (how == Sweep::wide)
          return widened<kRule.decoupled, Rule>(rule, l2, keep, to - from,
                                                Pointers<float, Rule::kStates>(a, update.layout, i, from));
      const Pointers<T, Rule::kStates> at(a, update.layout, i, from);
      const auto sweep =
          how == Sweep::vectors ? in_vectors<kRule.decoupled, Rule, T> : one_by_one<kRule.decoupled, Rule, T>;
      sweep(rule, l2, keep, to - from, at);
    };
    const std::int64_t n = update.tensors.numel();
    if (how == Sweep::reference) return update.tensors.each_piece(0, n, piece);
    parallel_for(n, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
      update.tensors.each_piece(begin, end, piece);
    });
  };
}

// The class for a rule; those with an optional momentum are two.
template <const UpdateRule& kRule, class T>
Launcher prepare(const Problem& p, Sweep how) {
  const bool momentum = p.attrs.real("momentum") > 0;
  if constexpr (kRule.name == kSgd.name) {
    if (!momentum) return launcher<kRule, T, PlainSgd<T>>(p, how);
    if (p.attrs.integer("nesterov") == 0) return launcher<kRule, T, MomentumSgd<T, false>>(p, how);
    return launcher<kRule, T, MomentumSgd<T, true>>(p, how);
  } else if constexpr (kRule.name == kRmsprop.name) {
    if (momentum) return launcher<kRule, T, Rmsprop<T, true>>(p, how);
    return launcher<kRule, T, Rmsprop<T, false>>(p, how);
  } else if constexpr (kRule.name == kAdagrad.name) {
    return launcher<kRule, T, Adagrad<T>>(p, how);
  } else if constexpr (kRule.name == kAdadelta.name) {
    return launcher<kRule, T, Adadelta<T>>(p, how);
  } else {
    return launcher<kRule, T, Adam<T>>(p, how);
  }
}

template <const UpdateRule& kRule, Sweep kHow>
Launcher prepare_float(const Problem& p, const LaunchContext&) {
  if constexpr (kHow == Sweep::wide) return prepare<kRule, double>(p, kHow);
  return dispatch_float(p.outputs[0].dtype,
                        [&]<class T>() -> Launcher { return prepare<kRule, T>(p, kHow); });
}

template <const UpdateRule& kRule>
Work work_cuda(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  constexpr int kMax = cuda::TensorTable::kMax;
  const UpdateProblem problem = update_problem(kRule, p);
  work.main().count = (static_cast<int>(problem.tensors.size()) + kMax - 1) / kMax;
  // Every thread computes what l2 leaves of a weight: kUpdateChunk elements a block.
  double blocks = 0;
  problem.tensors.each_piece(
      0, problem.tensors.numel(),
      [&](std::size_t, std::int64_t from, std::int64_t to) { blocks += double((to - from + 2047) / 2048); });
  work.main().executed = work.flops() + 2 * 256 * blocks;
  return work;
}

std::vector<Case> cases(const UpdateRule& rule, const std::vector<Attrs>& settings) {
  const std::vector<std::vector<Shape>> networks = {
      {{7, 3}, {5}, {1}}, {{33, 1001}, {1001}, {1001, 10}}, {{1024, 1024}, {1024}, {1, 1}}};
  std::vector<Case> list;
  for (const Attrs& attrs : settings)
    for (std::size_t n = 0; n < networks.size(); ++n) {
      const UpdateLayout layout = layout_of(rule, attrs);
      Case c{.tier = n == 2 ? Tier::perf : Tier::ci, .inputs = {}, .attrs = attrs};
      c.inputs.assign(layout.scalars, {1});
      c.fills = {{Fill::Kind::constant, 0.125}, {Fill::Kind::constant, 3}};
      c.dtypes = {DType::f64, DType::f64};
      c.fills.resize(layout.scalars), c.dtypes.resize(layout.scalars);
      for (const Shape& shape : networks[n])
        for (std::size_t k = 0; k < layout.stride(); ++k) {
          c.inputs.push_back(shape);
          c.fills.push_back({k < 2 ? Fill::Kind::normal : Fill::Kind::positive, 0});
        }
      list.push_back(std::move(c));
    }
  return list;
}

template <const UpdateRule& kRule>
Operator make(std::vector<Attrs> settings) {
  settings.push_back({});
  settings.push_back({{"l2", 0.3}, {"penalized", std::vector<std::int64_t>{1, 0, 1}}});
  return {.schema = {.name = std::string(kRule.name),
                     .infer = [](const std::vector<TensorType>& in,
                                 const Attrs& attrs) { return infer_update(kRule, in, attrs); },
                     .cost = [](const Problem& p) { return update_cost(kRule, p); },
                     .aliases = [](const Problem& p) { return update_aliases(kRule, p); }},
          .kernels = {{.name = "cuda:one_pass",
                       .device = DeviceKind::cuda,
                       .accepts = accepts_cuda_floats,
                       .work = work_cuda<kRule>,
                       .prepare = HEADROOM_CUDA(prepare_update_cuda)},
                      {.name = "cpu:one_pass", .prepare = prepare_float<kRule, Sweep::vectors>},
                      {.name = "cpu:wide",
                       .accepts = accepts_cpu_fp32,
                       .prepare = prepare_float<kRule, Sweep::wide>},
                      {.name = "reference", .prepare = prepare_float<kRule, Sweep::reference>}},
          .cases = cases(kRule, settings)};
}

}  // namespace
}  // namespace updates_kernels_cc

const std::vector<const UpdateRule*>& update_rules() {
  using namespace updates;
  static const std::vector<const UpdateRule*> list = {&kSgd,     &kAdagrad, &kAdadelta,
                                                      &kRmsprop, &kAdam,    &kAdamw};
  return list;
}

const UpdateRule* find_update_rule(std::string_view op) {
  for (const UpdateRule* rule : update_rules())
    if (rule->name == op) return rule;
  return nullptr;
}

std::vector<Operator> update_operators() {
  using namespace updates_kernels_cc;
  using Integers = std::vector<std::int64_t>;
  const Attr on{std::int64_t{1}};
  return {make<kSgd>({{{"momentum", 0.9}, {"l2", 0.3}, {"penalized", Integers{0, 1, 0}}},
                      {{"momentum", 0.9}, {"nesterov", on}},
                      {{"momentum", 0.5}, {"nesterov", on}, {"l2", 0.1}, {"penalized", Integers{1, 1, 1}}}}),
          make<kAdagrad>({{{"epsilon", 0.25}}}),
          make<kAdadelta>({{{"rho", 0.5}, {"epsilon", 0.01}}}),
          make<kRmsprop>({{{"alpha", 0.5}, {"epsilon", 0.25}}, {{"momentum", 0.9}}}),
          make<kAdam>({{{"beta1", 0.5}, {"beta2", 0.75}, {"epsilon", 0.25}}}),
          make<kAdamw>({{{"beta1", 0.0}, {"beta2", 0.9}}})};
}

}  // namespace headroom
