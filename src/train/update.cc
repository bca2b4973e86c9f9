#include "train/update.h"

#include <algorithm>
#include <vector>

#include "base/shares.h"
#include "base/text.h"
#include "models/layers.h"
#include "ops/updates/updates.h"
#include "passes/passes.h"

namespace headroom {
namespace {

std::vector<std::pair<std::string, std::optional<double>>> numbers_of(const Update& update) {
  const auto momentum = update.momentum == 0 ? std::nullopt : std::optional(update.momentum);
  return {{"momentum", momentum},      {"beta1", update.beta1}, {"beta2", update.beta2},
          {"epsilon", update.epsilon}, {"rho", update.rho},     {"alpha", update.alpha}};
}

const UpdateRule& rule_of(const Update& update) {
  if (const UpdateRule* rule = find_update_rule(update.kind)) return *rule;
  std::vector<std::string> names;
  for (const UpdateRule* rule : update_rules()) names.emplace_back(rule->name);
  reject(nearest(update.kind, names), "unknown optimizer '{}'", update.kind);
}

// The given settings of an update, as attributes. A setting that the optimizer does not know is an error.
Attrs settings_of(const Update& update, const UpdateRule& rule) {
  Attrs attrs{{"l2", update.l2}};
  for (const auto& [name, value] : numbers_of(update)) {
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

}  // namespace

Update parse_update(std::string_view text) {
  Update update;
  const std::size_t colon = text.find(':');
  update.kind = text.substr(0, colon);
  const UpdateRule& rule = rule_of(update);
  if (colon == std::string_view::npos) return update;
  std::vector<std::string> known;
  for (const UpdateSetting& setting : rule.settings)
    if (!setting.name.empty()) known.emplace_back(setting.name);
  for (const auto& [name, number] :
       parse_settings(text.substr(colon + 1), "optimizer setting", "adam:beta1=0.9,beta2=0.99")) {
    if (std::find(known.begin(), known.end(), name) == known.end())
      reject(nearest(name, known), "optimizer '{}' has no setting '{}'", rule.name, name);
    const double value = parse_double(number, fmt::format("{}'s {}", rule.name, name));
    if (name == "momentum") update.momentum = value;
    if (name == "beta1") update.beta1 = value;
    if (name == "beta2") update.beta2 = value;
    if (name == "epsilon") update.epsilon = value;
    if (name == "rho") update.rho = value;
    if (name == "alpha") update.alpha = value;
  }
  return update;
}

std::string to_text(const Update& update) {
  std::string text = update.kind;
  for (const auto& [name, value] : numbers_of(update))
    if (value) text += fmt::format(" {}={}", name, *value);
  return text + (update.nesterov ? " nesterov" : "") +
         (update.l2 > 0 ? fmt::format(" {}={}", update.decay ? "weight-decay" : "l2", update.l2) : "") +
         (update.clip_norm > 0 ? fmt::format(" clip-norm={}", update.clip_norm) : "") +
         (update.freeze.empty() ? "" : fmt::format(" freeze={}", fmt::join(update.freeze, ",")));
}

bool penalty_in_loss(const Update& update) { return !rule_of(update).decoupled && !update.decay; }

bool keeps_state(const Update& update) {
  const UpdateRule& rule = rule_of(update);
  return !layout_of(rule, settings_of(update, rule)).states.empty();
}

void clip_gradients(Graph& graph, std::map<ValueId, ValueId>& gradients, double limit,
                    const Distribution& ranks) {
  if (!(limit > 0) || gradients.empty()) return;
  // A rank that holds a part of a layer, or of a gradient, does not know the norm of the whole.
  if (ranks.model_parts > 1 || ranks.shard_optimizer)
    reject(Hint{"take `parallel` data without `shard-optimizer`, or `clip-norm` 0"},
           "`clip-norm` needs every gradient whole on every rank");
  constexpr const char* kLayer = "clip";
  auto add = [&](std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return graph.add_node(op, std::move(inputs), std::move(attrs), kLayer, Phase::update).at(0);
  };
  std::vector<ValueId> all;
  for (const auto& [parameter, gradient] : gradients) all.push_back(gradient);
  const DType dtype = graph.value(all[0]).type.dtype;
  const ValueId most = graph.add_value({.name = "clip.norm",
                                        .type = {{1}, dtype},
                                        .role = Role::constant,
                                        .producer = kNone,
                                        .init = {Initializer::Kind::constant, limit},
                                        .layer = {}});
  const ValueId norm = add("sqrt", {add("l2_penalty", all, {{"lambda", 2.0}})});
  const ValueId factor = add("clip", {add("div", {most, norm})}, {{"min", 0.0}, {"max", 1.0}});
  for (auto& [parameter, gradient] : gradients) {
    const std::string name = graph.value(gradient).name;
    graph.value(gradient).name += ".whole";  // callers find the gradient that is applied
    gradient = add("mul", {gradient, factor});
    graph.value(gradient).name = name;
  }
}

void add_updates(Graph& graph, const std::map<ValueId, ValueId>& gradients, const Update& update,
                 const Distribution& ranks) {
  const UpdateRule& rule = rule_of(update);
  Attrs attrs = settings_of(update, rule);
  const UpdateLayout layout = layout_of(rule, attrs);
  auto stored = [&](std::string name, const TensorType& type, Role role, const std::string& layer) {
    return graph.add_value(
        {.name = std::move(name), .type = type, .role = role, .producer = kNone, .init = {}, .layer = layer});
  };
  std::vector<ValueId> scalars = {stored(kLearningRate, {{1}, DType::f64}, Role::scalar, {})};
  if (rule.counts_steps) scalars.push_back(step_scalar(graph));
  std::vector<std::pair<ValueId, Attrs>> shares;  // updated here, then sent to the others
  for (const auto& [parameter, gradient] : gradients) {
    const Value value = graph.value(parameter);
    const std::int64_t whole = value.type.shape.numel();
    const bool sharded = is_sharded(value, ranks);
    const Share share = share_of(whole, sharded ? ranks.data_parts : 1, sharded ? ranks.data_index : 0);
    auto own = [&](ValueId id) {
      if (!sharded) return id;
      return graph
          .add_node("part_of", {id}, {{"first", share.first}, {"count", share.count}}, value.layer,
                    Phase::update)
          .at(0);
    };
    std::vector<ValueId> inputs = scalars;
    inputs.push_back(own(parameter));
    inputs.push_back(own(gradient));
    const TensorType type = graph.value(inputs.back()).type;
    for (std::string_view state : layout.states) {
      inputs.push_back(stored(fmt::format("{}.{}", value.name, state), type, Role::state, value.layer));
      graph.value(inputs.back()).part = value.part;
      if (sharded) graph.value(inputs.back()).part = Part{value.type.shape, -1, share.first, share.count};
    }
    attrs.set("penalized", std::vector<std::int64_t>{value.penalized});
    const ValueId updated = graph.add_node(rule.name, inputs, attrs, value.layer, Phase::update).at(0);
    if (sharded)
      shares.emplace_back(
          updated, Attrs{{"group", std::string(kDataGroup)}, {"first", share.first}, {"whole", whole}});
  }
  for (const auto& [updated, how] : shares)
    graph.add_node("all_gather", {updated}, how, "communication", Phase::update);
}

}  // namespace headroom
