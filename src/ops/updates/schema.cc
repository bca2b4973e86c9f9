#include "ops/expect.h"
#include "ops/updates/updates.h"

namespace headroom {
namespace updates_schema_cc {
namespace {

std::vector<std::int64_t> penalized(const Attrs& attrs, std::size_t tensors) {
  return attrs.integers("penalized", std::vector<std::int64_t>(tensors, 0));
}

void expect_settings(const UpdateRule& rule, const Attrs& attrs, std::size_t tensors) {
  for (const UpdateSetting& s : rule.settings) {
    if (s.name.empty()) continue;
    const double value = attrs.real(s.name, s.fallback);
    if (!(value >= 0 && value < s.below))
      reject(Hint{fmt::format("{} is usual", s.fallback)}, "{}: {} is {}, not within [0, {})", rule.name,
             s.name, value, s.below);
  }
  if (attrs.integer("nesterov") != 0 && attrs.real("momentum") == 0)
    reject(Hint{"give a momentum as well"}, "{}: nesterov without momentum", rule.name);
  if (!(attrs.real("l2") >= 0)) reject("{}: l2 is {}", rule.name, attrs.real("l2"));
  if (const std::size_t n = penalized(attrs, tensors).size(); n != tensors)
    reject("{}: 'penalized' names {} tensors of {}", rule.name, n, tensors);
}

}  // namespace
}  // namespace updates_schema_cc

UpdateLayout layout_of(const UpdateRule& rule, const Attrs& attrs) {
  UpdateLayout layout{.scalars = rule.counts_steps ? 2u : 1u, .states = {}};
  for (std::string_view state : rule.states)
    if (!state.empty()) layout.states.push_back(state);
  if (rule.optional_last && !(attrs.real("momentum") > 0)) layout.states.pop_back();
  return layout;
}

UpdateProblem update_problem(const UpdateRule& rule, const Problem& p) {
  using namespace updates_schema_cc;
  UpdateProblem update{.layout = layout_of(rule, p.attrs), .tensors = {}, .l2 = {}};
  for (std::size_t i = update.layout.in(0); i < p.inputs.size(); i += update.layout.stride())
    update.tensors.add(p.inputs[i].shape);
  for (std::int64_t on : penalized(p.attrs, update.tensors.size()))
    update.l2.push_back(on != 0 ? p.attrs.real("l2") : 0.0);
  return update;
}

std::vector<TensorType> infer_update(const UpdateRule& rule, const std::vector<TensorType>& in,
                                     const Attrs& attrs) {
  using namespace updates_schema_cc;
  const UpdateLayout layout = layout_of(rule, attrs);
  const std::size_t scalars = layout.scalars, stride = layout.stride();
  if (in.size() < scalars + stride || (in.size() - scalars) % stride != 0)
    reject("{} takes the learning rate{} and {} values per tensor, not {} inputs", rule.name,
           rule.counts_steps ? ", the step" : "", stride, in.size());
  expect_not_empty(rule.name, in);
  for (std::size_t i = 0; i < scalars; ++i) expect_same(rule.name, in[i], {{1}, DType::f64});
  expect_settings(rule, attrs, (in.size() - scalars) / stride);
  std::vector<TensorType> out;
  for (std::size_t i = scalars; i < in.size(); i += stride) {
    expect_float(rule.name, in[i]);
    if (in[i].dtype != in[scalars].dtype)
      reject("{}: parameters in {} and {}", rule.name, name_of(in[scalars].dtype), name_of(in[i].dtype));
    for (std::size_t k = 1; k < stride; ++k) expect_same(rule.name, in[i], in[i + k]);
    out.insert(out.end(), stride - 1, in[i]);
  }
  return out;
}

Cost update_cost(const UpdateRule& rule, const Problem& p) {
  Cost c = traffic(p);
  const UpdateProblem update = update_problem(rule, p);
  const int momentum = (p.attrs.real("momentum") > 0) + (p.attrs.integer("nesterov") != 0);
  for (std::size_t i = 0; i < update.tensors.size(); ++i) {
    const auto n = static_cast<double>(p.inputs[update.layout.in(i)].shape.numel());
    c.multiply_add += n * (rule.element.multiply_add + 2 * momentum + (update.l2[i] > 0 ? 2 : 0));
    c.other += n * rule.element.other;
    c.special += n * rule.element.special;
  }
  return c;
}

std::vector<int> update_aliases(const UpdateRule& rule, const Problem& p) {
  const UpdateProblem update = update_problem(rule, p);
  std::vector<int> list;
  for (std::size_t i = 0; i < update.tensors.size(); ++i) {
    const int first = static_cast<int>(update.layout.in(i));
    list.push_back(first);
    for (std::size_t s = 0; s < update.layout.states.size(); ++s)
      list.push_back(first + 2 + static_cast<int>(s));
  }
  return list;
}

}  // namespace headroom
