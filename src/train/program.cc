#include "train/program.h"

#include "graph/autodiff.h"
#include "models/layers.h"
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

void add_updates(Program& p, const std::map<ValueId, ValueId>& gradients, const Update& update) {
  const ValueId rate = p.graph.add_value({.name = kLearningRate,
                                          .type = {{1}, DType::f64},
                                          .role = Role::scalar,
                                          .producer = kNone,
                                          .init = {},
                                          .layer = {}});
  for (const auto& [parameter, gradient] : gradients) {
    const Value value = p.graph.value(parameter);
    std::vector<ValueId> inputs = {rate, parameter, gradient};
    if (update.momentum > 0)
      inputs.push_back(p.graph.add_value({.name = value.name + ".momentum",
                                          .type = value.type,
                                          .role = Role::state,
                                          .producer = kNone,
                                          .init = {},
                                          .layer = value.layer}));
    p.graph.add_node("sgd", inputs,
                     {{"momentum", update.momentum},
                      {"nesterov", std::int64_t{update.nesterov}},
                      {"l2", update.l2},
                      {"penalized", std::vector<std::int64_t>{value.penalized}}},
                     value.layer, Phase::update);
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
    add_penalty(p, update.l2);
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
