#include "ops/testing/graph_run.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "graph/autodiff.h"

namespace headroom::testing {

std::map<ValueId, Values> interpret(const Graph& graph, std::map<ValueId, Values> known) {
  for (ValueId id : graph.with_role(Role::constant)) {
    const Value& v = graph.value(id);
    known.try_emplace(id, Values(static_cast<std::size_t>(v.type.shape.numel()), v.init.scale));
  }
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& node = graph.node(static_cast<NodeId>(n));
    if (schema_of(node.op).is_view) {
      known[node.outputs[0]] = known.at(node.inputs[0]);
      continue;
    }
    std::vector<Values> inputs;
    for (ValueId in : node.inputs) inputs.push_back(known.at(in));
    Run run = run_kernel(reference_of(operator_of(node.op)), widened(graph.problem(static_cast<NodeId>(n))),
                         inputs);
    for (std::size_t i = 0; i < node.outputs.size(); ++i) known[node.outputs[i]] = std::move(run.outputs[i]);
  }
  return known;
}

GradientCheck check_gradient(const Operator& op, const Problem& problem, const std::vector<Values>& inputs) {
  Graph graph;
  std::vector<ValueId> ids, wanted;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    ids.push_back(graph.add_value({.name = fmt::format("in{}", i),
                                   .type = problem.inputs[i],
                                   .role = Role::input,
                                   .producer = kNone,
                                   .init = {},
                                   .layer = {}}));
    const bool skip = std::count(op.no_gradient.begin(), op.no_gradient.end(), static_cast<int>(i)) > 0;
    if (is_float(problem.inputs[i].dtype) && !skip) wanted.push_back(ids.back());
  }
  const ValueId y = graph.add_node(op.schema.name, ids, problem.attrs, "tested").at(0);
  const ValueId seed = graph.add_value({.name = "seed",
                                        .type = graph.value(y).type,
                                        .role = Role::input,
                                        .producer = kNone,
                                        .init = {},
                                        .layer = {}});
  const Graph forward = graph;
  const auto gradients = differentiate(graph, y, wanted, seed);

  std::map<ValueId, Values> known;
  for (std::size_t i = 0; i < ids.size(); ++i) known[ids[i]] = inputs[i];
  Values& weights = known[seed];
  for (std::int64_t i = 0; i < graph.value(y).type.shape.numel(); ++i)
    weights.push_back(Philox(5).normal(std::uint64_t(i)));
  auto objective = [&](const std::map<ValueId, Values>& at) {
    const Values out = interpret(forward, at).at(y);
    double sum = 0;
    for (std::size_t i = 0; i < out.size(); ++i) sum += out[i] * known.at(seed)[i];
    return sum;
  };
  const auto analytic = interpret(graph, known);

  GradientCheck check;
  for (ValueId id : wanted) {
    const auto found = gradients.find(id);
    if (found == gradients.end()) fail("operator '{}' gives no gradient for input {}", op.schema.name, id);
    const Values& gradient = analytic.at(found->second);
    // Large inputs are sampled: forty elements spread over the tensor.
    const std::size_t stride = std::max<std::size_t>(1, gradient.size() / 40);
    for (std::size_t i = 0; i < gradient.size(); i += stride) {
      constexpr double kStep = 1e-6;
      auto moved = known;
      moved[id][i] += kStep;
      const double above = objective(moved);
      moved[id][i] -= 2 * kStep;
      const double numeric = (above - objective(moved)) / (2 * kStep);
      const double error =
          std::abs(numeric - gradient[i]) / std::max({1.0, std::abs(numeric), std::abs(gradient[i])});
      ++check.compared;
      if (error > check.worst_relative_error)
        check = {check.compared, error,
                 fmt::format("input {} element {}: {:.9g} by differences, {:.9g} by the graph", id, i,
                             numeric, gradient[i])};
    }
  }
  return check;
}

}  // namespace headroom::testing
