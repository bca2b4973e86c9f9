#pragma once

// A network small enough to check by eye, made without the model and training code: flattened images, two
// layers, cross-entropy, plain gradient descent.

#include "device/device.h"
#include "graph/autodiff.h"
#include "passes/passes.h"
#include "plan/plan.h"

namespace headroom::testing {

struct SmallNet {
  Graph graph;
  ValueId images = kNone, labels = kNone, rate = kNone;
  ValueId loss = kNone, scores = kNone, flat = kNone;
};

inline SmallNet small_net(std::int64_t batch, DType dtype = DType::f32) {
  SmallNet net;
  Graph& g = net.graph;
  auto add = [&](const char* name, TensorType type, Role role, const char* layer = "") {
    return g.add_value(
        {.name = name, .type = type, .role = role, .init = {Initializer::Kind::normal, 0.5}, .layer = layer});
  };
  net.images = add("images", {{batch, 2, 3}, dtype}, Role::input);
  net.labels = add("labels", {{batch}, DType::i32}, Role::input);
  net.rate = add("rate", {{1}, DType::f64}, Role::scalar);
  const std::vector<ValueId> weights = {add("fc1.weight", {{5, 6}, dtype}, Role::parameter, "fc1"),
                                        add("fc1.bias", {{5}, dtype}, Role::parameter, "fc1"),
                                        add("fc2.weight", {{3, 5}, dtype}, Role::parameter, "fc2")};
  net.flat = g.add_node("reshape", {net.images}, {{"shape", std::vector<std::int64_t>{batch, 6}}}, "fc1")[0];
  const ValueId sum = g.add_node("linear", {net.flat, weights[0], weights[1]}, {}, "fc1")[0];
  const ValueId hidden = g.add_node("tanh", {sum}, {}, "fc1")[0];
  net.scores = g.add_node("linear", {hidden, weights[2]}, {}, "fc2")[0];
  net.loss = g.add_node("cross_entropy", {net.scores, net.labels}, {}, "loss")[0];
  for (const auto& [parameter, gradient] : differentiate(g, net.loss, weights))
    g.add_node("sgd", {net.rate, parameter, gradient}, {}, g.value(parameter).layer, Phase::update);
  g.outputs = {net.loss, net.scores};
  fuse(g);
  drop_unused(g);
  return net;
}

inline Binding cpu_binding(Mode mode, std::int64_t batch, DType dtype = DType::f32) {
  return {mode, batch, dtype, cpu_capabilities(2)};
}

// Walks a plan and records who wrote each byte of the arena last. A step must find its inputs as they were
// written, and must not overwrite them or its own workspace. Returns the first error.
inline std::string find_overwrite(const Plan& plan) {
  struct Written {
    std::size_t begin, end;
    ValueId value;
  };
  std::vector<Written> memory;
  auto end_of = [](const Slot& slot, const TensorType& type) {
    return slot.offset + static_cast<std::size_t>(type.bytes());
  };
  auto holds = [&](const Slot& slot, const TensorType& type) {
    const std::size_t end = end_of(slot, type);
    bool found = type.bytes() == 0;
    for (const Written& w : memory) {
      if (w.value == slot.value) found |= w.begin == slot.offset && w.end >= end;
    }
    return found;
  };
  auto write = [&](std::size_t begin, std::size_t end, ValueId value) {
    std::erase_if(memory, [&](const Written& w) { return w.begin < end && begin < w.end; });
    memory.push_back({begin, end, value});
  };
  auto check_inputs = [&](const Step& step, const char* when) -> std::string {
    for (std::size_t i = 0; i < step.inputs.size(); ++i)
      if (step.inputs[i].where == Slot::Where::arena && !holds(step.inputs[i], step.problem.inputs[i]))
        return fmt::format("input {} of {} is overwritten {}", i, step.problem.str(), when);
    return {};
  };
  for (const Step& step : plan.steps) {
    if (std::string wrong = check_inputs(step, "before"); !wrong.empty()) return wrong;
    if (step.workspace > 0) write(step.workspace_offset, step.workspace_offset + step.workspace, kNone);
    for (std::size_t o = 0; o < step.outputs.size(); ++o)
      if (step.outputs[o].where == Slot::Where::arena)
        write(step.outputs[o].offset, end_of(step.outputs[o], step.problem.outputs[o]),
              step.outputs[o].value);
    if (std::string wrong = check_inputs(step, "by itself"); !wrong.empty()) return wrong;
    for (std::size_t o = 0; o < step.outputs.size(); ++o)
      if (step.outputs[o].where == Slot::Where::arena && !holds(step.outputs[o], step.problem.outputs[o]))
        return fmt::format("outputs of {} overlap", step.problem.str());
    for (const Written& w : memory)
      if (w.end > plan.arena_bytes) return fmt::format("{} writes beyond the arena", step.problem.str());
  }
  return {};
}

}  // namespace headroom::testing
