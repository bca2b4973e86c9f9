#include "graph/autodiff.h"

#include <set>

namespace headroom {
namespace {

// Values on a path from a wanted value: only their gradients are needed.
std::set<ValueId> reachable(const Graph& graph, const std::vector<ValueId>& wanted, std::size_t nodes) {
  std::set<ValueId> live(wanted.begin(), wanted.end());
  for (std::size_t n = 0; n < nodes; ++n) {
    const Node& node = graph.node(static_cast<NodeId>(n));
    for (ValueId in : node.inputs)
      if (live.count(in)) {
        live.insert(node.outputs.begin(), node.outputs.end());
        break;
      }
  }
  return live;
}

}  // namespace

std::map<ValueId, ValueId> differentiate(Graph& graph, ValueId target, const std::vector<ValueId>& wanted,
                                         ValueId seed) {
  const std::size_t forward_nodes = graph.nodes().size();
  const std::set<ValueId> live = reachable(graph, wanted, forward_nodes);
  if (seed == kNone)
    seed = graph.add_value({.name = "one",
                            .type = graph.value(target).type,
                            .role = Role::constant,
                            .producer = kNone,
                            .init = {Initializer::Kind::constant, 1.0},
                            .layer = {}});

  std::map<ValueId, ValueId> gradient = {{target, seed}};
  for (std::size_t n = forward_nodes; n-- > 0;) {
    const NodeId id = static_cast<NodeId>(n);
    const Node node = graph.node(id);  // a copy: emitting nodes moves the list
    GradientContext context{.graph = graph, .node = id, .output_gradients = {}, .needed = {}};
    bool reaches = false, needed = false;
    for (ValueId out : node.outputs) {
      const auto it = gradient.find(out);
      context.output_gradients.push_back(it == gradient.end() ? kNone : it->second);
      reaches |= it != gradient.end();
    }
    for (ValueId in : node.inputs) {
      context.needed.push_back(live.count(in) > 0);
      needed |= context.needed.back();
    }
    if (!reaches || !needed) continue;

    const OpSchema& schema = schema_of(node.op);
    if (schema.gradient == nullptr) reject("layer '{}': operator '{}' has no gradient", node.layer, node.op);
    const std::vector<ValueId> input_gradients = schema.gradient(context);
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      if (input_gradients.at(i) == kNone || !context.needed[i]) continue;
      auto [it, first] = gradient.emplace(node.inputs[i], input_gradients[i]);
      if (!first) it->second = context.emit("add", {it->second, input_gradients[i]});  // used twice: sum
    }
  }

  std::map<ValueId, ValueId> result;
  for (ValueId id : wanted)
    if (const auto it = gradient.find(id); it != gradient.end()) result.insert(*it);
  return result;
}

}  // namespace headroom
