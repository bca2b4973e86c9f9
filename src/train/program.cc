#include "train/program.h"

#include <algorithm>

#include "base/text.h"
#include "graph/autodiff.h"
#include "models/layers.h"
#include "ops/updates/updates.h"
#include "passes/passes.h"

namespace headroom {
namespace {

constexpr const char* kLossLayer = "loss";

Shape batched(const Net& net, std::int64_t batch) {
  std::vector<std::int64_t> dims = {batch};
  dims.insert(dims.end(), net.input.begin(), net.input.end());
  return Shape(dims);
}

Program start(const Net& net, std::int64_t batch, DType dtype) {
  Program p;
  p.images = p.graph.add_value({.name = "images",
                                .type = {batched(net, batch), dtype},
                                .role = Role::input,
                                .producer = kNone,
                                .init = {},
                                .layer = {}});
  p.logits = lower(net, p.graph, p.images, dtype);
  return p;
}

// The penalty only changes the number reported: its gradient is part of the update.
void add_penalty(Program& p, double l2) {
  std::vector<ValueId> weights;
  for (ValueId id : p.graph.with_role(Role::parameter))
    if (p.graph.value(id).penalized) weights.push_back(id);
  if (l2 <= 0 || weights.empty()) return;
  const ValueId penalty = p.graph.add_node("l2_penalty", weights, {{"lambda", l2}}, kLossLayer).at(0);
  p.loss = p.graph.add_node("add", {p.loss, penalty}, {}, kLossLayer).at(0);
}

const UpdateRule& rule_of(const Update& update) {
  if (const UpdateRule* rule = find_update_rule(update.kind)) return *rule;
  std::vector<std::string> names;
  for (const UpdateRule* rule : update_rules()) names.emplace_back(rule->name);
  reject(nearest(update.kind, names), "unknown optimizer '{}'", update.kind);
}

// The settings an update was given, as attributes. What the optimizer does not know is an error, not ignored.
Attrs settings_of(const Update& update, const UpdateRule& rule) {
  Attrs attrs{{"l2", update.l2}};
  const std::optional<double> momentum = update.momentum == 0 ? std::nullopt : std::optional(update.momentum);
  for (const auto& [name, value] :
       std::initializer_list<std::pair<const char*, std::optional<double>>>{{"momentum", momentum},
                                                                            {"beta1", update.beta1},
                                                                            {"beta2", update.beta2},
                                                                            {"epsilon", update.epsilon},
                                                                            {"rho", update.rho},
                                                                            {"alpha", update.alpha}}) {
    if (!value) continue;
    const bool known = std::any_of(rule.settings.begin(), rule.settings.end(),
                                   [&, n = name](const UpdateSetting& s) { return s.name == n; });
    if (!known) reject("optimizer '{}' has no setting '{}'", rule.name, name);
    attrs.set(name, *value);
  }
  if (update.nesterov) {
    if (rule.name != "sgd") reject("optimizer '{}' has no setting 'nesterov'", rule.name);
    attrs.set("nesterov", std::int64_t{1});
  }
  return attrs;
}

void add_updates(Program& p, const std::map<ValueId, ValueId>& gradients, const Update& update) {
  const UpdateRule& rule = rule_of(update);
  Attrs attrs = settings_of(update, rule);
  const UpdateLayout layout = layout_of(rule, attrs);
  auto stored = [&](std::string name, const TensorType& type, Role role, const std::string& layer) {
    return p.graph.add_value(
        {.name = std::move(name), .type = type, .role = role, .producer = kNone, .init = {}, .layer = layer});
  };
  std::vector<ValueId> scalars = {stored(kLearningRate, {{1}, DType::f64}, Role::scalar, {})};
  if (rule.counts_steps) scalars.push_back(stored(kStep, {{1}, DType::f64}, Role::scalar, {}));
  for (const auto& [parameter, gradient] : gradients) {
    const Value value = p.graph.value(parameter);
    std::vector<ValueId> inputs = scalars;
    inputs.insert(inputs.end(), {parameter, gradient});
    for (std::string_view state : layout.states)
      inputs.push_back(stored(fmt::format("{}.{}", value.name, state), value.type, Role::state, value.layer));
    attrs.set("penalized", std::vector<std::int64_t>{value.penalized});
    p.graph.add_node(rule.name, inputs, attrs, value.layer, Phase::update);
  }
}

}  // namespace

Program make_forward(const Net& net, std::int64_t batch, DType dtype) {
  Program p = start(net, batch, dtype);
  p.graph.outputs = {p.logits};
  fuse(p.graph);
  drop_unused(p.graph);
  return p;
}

Program make_program(const Net& net, Mode mode, std::int64_t batch, DType dtype, const Update& update,
                     bool keep_gradients) {
  Program p = start(net, batch, dtype);
  const Shape& out = p.graph.value(p.logits).type.shape;
  if (out.rank() != 2)
    reject(Hint{"end the network with a linear layer, one unit per class"},
           "network '{}' ends in {} per image, not in one number per class", net.name,
           out.without_first().str());
  p.labels = p.graph.add_value({.name = "labels",
                                .type = {{batch}, DType::i32},
                                .role = Role::input,
                                .producer = kNone,
                                .init = {},
                                .layer = {}});
  p.loss = p.graph.add_node("cross_entropy", {p.logits, p.labels}, {}, kLossLayer).at(0);
  const ValueId data_loss = p.loss;
  p.correct = p.graph.add_node("count_correct", {p.logits, p.labels}, {}, kLossLayer).at(0);
  if (mode == Mode::train) {
    if (!rule_of(update).decoupled) add_penalty(p, update.l2);
    const auto gradients = differentiate(p.graph, data_loss, p.graph.with_role(Role::parameter));
    for (const auto& [parameter, gradient] : gradients) {
      p.graph.value(gradient).name = p.graph.value(parameter).name + ".gradient";
      if (keep_gradients) p.graph.outputs.push_back(gradient);
    }
    add_updates(p, gradients, update);
  }
  p.graph.outputs.insert(p.graph.outputs.end(), {p.loss, p.correct});
  if (mode == Mode::eval) p.graph.outputs.push_back(p.logits);
  fuse(p.graph);
  drop_unused(p.graph);
  return p;
}

ValueId gradient_of(const Program& program, std::string_view parameter) {
  const ValueId id = program.graph.find(fmt::format("{}.gradient", parameter));
  if (id == kNone) fail("no gradient of '{}'", parameter);
  return id;
}

}  // namespace headroom
