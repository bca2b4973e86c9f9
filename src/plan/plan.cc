#include "plan/plan.h"

#include <algorithm>
#include <functional>
#include <map>
#include <unordered_map>

#include "plan/lifetimes.h"
#include "plan/streams.h"

namespace headroom {
namespace {

bool same(const Problem& a, const Problem& b) {
  return a.op == b.op && a.inputs == b.inputs && a.outputs == b.outputs && a.attrs == b.attrs;
}

std::size_t hash_of(const Problem& problem) {
  std::size_t hash = std::hash<std::string>{}(problem.op);
  for (const auto* types : {&problem.inputs, &problem.outputs})
    for (const TensorType& type : *types)
      for (const std::int64_t extent : type.shape.dims()) hash = hash * 31 + static_cast<std::size_t>(extent);
  return hash;
}

Step make_step(const Node& node, Problem problem, const Binding& binding, const Chooser& choose) {
  Step step{.problem = std::move(problem)};
  try {
    Choice choice = choose(step.problem, binding.target);
    step.kernel = choice.kernel;
    step.variant = std::move(choice.variant);
    step.variant_s = choice.variant_s;
    step.why = std::move(choice.why);
    step.refused = std::move(choice.refused);
  } catch (const Error& error) {
    throw Error(error.blame(), fmt::format("layer '{}': {}", node.layer, error.what()), Hint{error.hint()});
  }
  step.cost = schema_of(node.op).cost(step.problem);
  step.work = step.kernel ? step.kernel->work(step.problem, binding.target)
                          : least_work(step.problem, binding.target);
  if (step.kernel && step.kernel->workspace)
    step.workspace = step.kernel->workspace(step.problem, binding.target);
  return step;
}

// Many layers of a network ask for the same: kernels are chosen once for all of them.
std::vector<Step> make_steps(const Graph& graph, const std::vector<NodeId>& order, const Binding& binding,
                             const Chooser& choose) {
  std::vector<Step> steps;
  steps.reserve(order.size());
  std::unordered_multimap<std::size_t, std::size_t> made;  // steps by the hash of what they compute
  for (const NodeId id : order) {
    const Node& node = graph.node(id);
    Problem problem = graph.problem(id);
    const std::size_t hash = hash_of(problem);
    const auto [begin, end] = made.equal_range(hash);
    const auto twin =
        std::find_if(begin, end, [&](const auto& m) { return same(steps[m.second].problem, problem); });
    if (twin != end) {
      steps.push_back(steps[twin->second]);
    } else {
      made.emplace(hash, steps.size());
      steps.push_back(make_step(node, std::move(problem), binding, choose));
      steps.back().like = static_cast<int>(steps.size()) - 1;
    }
    Step& step = steps.back();
    step.node = id, step.phase = node.phase;
    step.charges = node.charges.empty() ? std::vector<Charge>{{node.layer, node.phase, 1.0}} : node.charges;
  }
  return steps;
}

// The nodes that are launched. Phases run one after another; lifetimes follow this order.
std::vector<NodeId> launch_order(const Graph& graph) {
  std::vector<NodeId> order;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    if (!schema_of(graph.nodes()[n].op).is_view) order.push_back(static_cast<NodeId>(n));
  std::ranges::stable_sort(order, {}, [&](NodeId id) { return graph.node(id).phase; });
  return order;
}

// An in-place update must come after every step that reads the old value. The phase ensures this for
// parameters. Running statistics change in the forward pass, where only the order of the graph puts readers
// first.
void expect_readers_first(const Plan& plan, const std::vector<ValueId>& owner) {
  const Graph& graph = plan.graph;
  std::vector<ValueId> holder = owner;  // by owner: the value its memory holds now
  std::vector<ValueId> seen(owner.size());
  for (std::size_t i = 0; i < seen.size(); ++i) seen[i] = static_cast<ValueId>(i);
  for (const Node& node : graph.nodes())  // a view counts as the value it views
    if (schema_of(node.op).is_view)
      seen[static_cast<std::size_t>(node.outputs[0])] = seen[static_cast<std::size_t>(node.inputs[0])];
  for (const Step& step : plan.steps) {
    const Node& node = graph.node(step.node);
    for (ValueId in : node.inputs) {
      const auto own = static_cast<std::size_t>(owner[static_cast<std::size_t>(in)]);
      if (seen[static_cast<std::size_t>(in)] != holder[own])
        fail("layer '{}': {} reads '{}' after '{}' overwrote it", node.layer, node.op, graph.value(in).name,
             graph.value(holder[own]).name);
    }
    for (ValueId out : node.outputs)
      holder[static_cast<std::size_t>(owner[static_cast<std::size_t>(out)])] = out;
  }
}

// Gives arena memory to every value and workspace.
void place_memory(Plan& plan, const Homes& homes) {
  const Graph& graph = plan.graph;
  const std::vector<ArenaPiece> pieces = arena_pieces(plan, homes);
  std::vector<Lifetime> lives;
  for (const ArenaPiece& piece : pieces) lives.push_back(piece.life);
  plan.arena_bytes = place(lives);
  std::vector<std::size_t> offset(graph.values().size(), 0);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    plan.unshared_bytes += lives[i].bytes;
    if (pieces[i].value != kNone)
      offset[static_cast<std::size_t>(pieces[i].value)] = lives[i].offset;
    else
      plan.steps[static_cast<std::size_t>(lives[i].first)].workspace_offset = lives[i].offset;
  }
  auto slot = [&](ValueId id) -> Slot {
    const ValueId own = homes.owner[static_cast<std::size_t>(id)];
    const std::size_t at = homes.shift[static_cast<std::size_t>(id)];
    const Role role = graph.value(own).role;
    if (role == Role::input) return {Slot::Where::bound, at, own};
    if (lives_in_storage(role)) return {Slot::Where::storage, at, own};
    return {Slot::Where::arena, offset[static_cast<std::size_t>(own)] + at, own};
  };
  for (Step& step : plan.steps) {
    for (ValueId id : graph.node(step.node).inputs) step.inputs.push_back(slot(id));
    for (ValueId id : graph.node(step.node).outputs) step.outputs.push_back(slot(id));
  }
}

}  // namespace

std::string_view name_of(Mode mode) {
  switch (mode) {
    case Mode::train:
      return "train";
    case Mode::eval:
      return "eval";
    case Mode::infer:
      return "infer";
    case Mode::gradients:
      return "gradients";
  }
  return "";
}

Plan make_plan(Graph graph, Binding binding, const Chooser& choose) {
  Plan plan{.graph = std::move(graph), .binding = std::move(binding), .steps = {}};
  plan.steps = make_steps(plan.graph, launch_order(plan.graph), plan.binding, choose);
  const Homes homes = homes_of(plan.graph);
  if (plan.binding.streams > 1) use_more_streams(plan, homes.owner);
  expect_readers_first(plan, homes.owner);
  place_memory(plan, homes);
  return plan;
}

Plan plan_operators(Graph graph, DType precision, const Target& target, const Chooser& choose) {
  return make_plan(std::move(graph), {Mode::eval, 1, precision, target}, choose);
}

std::string Step::full_name() const {
  return variant.empty() ? std::string(kernel_name()) : fmt::format("{}:{}", kernel_name(), variant);
}

std::string Plan::text() const {
  std::string text;
  for (std::size_t s = 0; s < steps.size(); ++s)
    text += fmt::format("{:>3}  {:<8} {:<16} {:<18} {}\n", s, name_of(steps[s].phase),
                        graph.node(steps[s].node).layer, steps[s].full_name(), steps[s].problem.str());
  return text;
}

std::string Plan::explain() const {
  std::string text;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const Step& step = steps[s];
    text += fmt::format("{:>3}  {:<10} {:<20} {} ({})\n", s, graph.node(step.node).layer, step.problem.op,
                        step.full_name(), step.why);
    for (const Refusal& r : step.refused) text += fmt::format("       refused: {}: {}\n", r.kernel, r.reason);
  }
  return text;
}

}  // namespace headroom
