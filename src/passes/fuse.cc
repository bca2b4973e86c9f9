#include <algorithm>
#include <map>
#include <set>

#include "ops/updates/updates.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

bool takes_activation(const Node& node) {
  return (node.op == "linear" || node.op == "conv2d") && !node.attrs.has("activation");
}

// sigmoid for sigmoid_grad; empty for other nodes.
std::string activation_of_gradient(const Node& node) {
  const std::string& function = schema_of(node.op).gradient_of;
  return !function.empty() && schema_of(function).fusible_activation ? function : std::string();
}

void fuse_activations(Graph& graph) {
  const auto readers = count_readers(graph);
  std::vector<Node> nodes = graph.nodes();
  std::set<std::size_t> gone;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (!schema_of(nodes[n].op).fusible_activation) continue;
    Node* product = sole_producer(graph, nodes, readers, nodes[n].inputs[0]);
    if (product == nullptr || !takes_activation(*product)) continue;
    const std::vector<Charge> charges = charges_of(graph, {*product, nodes[n]});
    product->attrs.set("activation", nodes[n].op);
    product->outputs = nodes[n].outputs;
    if (charges.size() > 1) product->charges = charges;
    gone.insert(n);
  }
  drop_nodes(graph, std::move(nodes), gone);
}

// y with the shape of `like`: y itself, or an existing view of it.
ValueId seen_as(const Graph& graph, ValueId y, ValueId like) {
  const TensorType& type = graph.value(like).type;
  if (graph.value(y).type == type) return y;
  for (const Node& node : graph.nodes())
    if (schema_of(node.op).is_view && node.inputs[0] == y && graph.value(node.outputs[0]).type == type)
      return node.outputs[0];
  return kNone;
}

// The node that absorbs an activation's gradient dy * f'(x), and the value through which it reads y = f(x).
// There may be a view between the two: then the slope is applied before it.
struct Absorber {
  Node* node = nullptr;
  Node* view = nullptr;
  ValueId y = kNone;
};

// A matmul multiplies by the slope as it stores; y becomes its third input. A max_pool_grad already reads y:
// y is what was pooled.
Absorber absorber_of(const Graph& graph, std::vector<Node>& nodes, const std::map<ValueId, int>& readers,
                     const Node& gradient) {
  const ValueId y = gradient.inputs[1];
  Absorber a{.node = sole_producer(graph, nodes, readers, gradient.inputs[0])};
  if (a.node != nullptr && schema_of(a.node->op).is_view) {
    a.view = a.node;
    a.node = sole_producer(graph, nodes, readers, a.view->inputs[0]);
  }
  if (a.node == nullptr || a.node->attrs.has("activation_grad")) return {};
  if (a.node->op == "max_pool_grad") return a.view == nullptr && a.node->inputs[1] == y ? a : Absorber{};
  if (a.node->op != "matmul") return {};
  a.y = seen_as(graph, y, a.node->outputs[0]);
  // y must exist by then; it does in gradients that differentiate() made.
  if (a.y == kNone || graph.value(a.y).producer >= graph.value(a.node->outputs[0]).producer) return {};
  return a;
}

void fuse_activation_gradients(Graph& graph) {
  const auto readers = count_readers(graph);
  std::vector<Node> nodes = graph.nodes();
  std::set<std::size_t> gone;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    const std::string activation = activation_of_gradient(nodes[n]);
    if (activation.empty()) continue;
    const Absorber a = absorber_of(graph, nodes, readers, nodes[n]);
    if (a.node == nullptr) continue;
    const std::vector<Charge> charges = charges_of(graph, {*a.node, nodes[n]});
    a.node->attrs.set("activation_grad", activation);
    if (a.y != kNone) a.node->inputs.push_back(a.y);
    (a.view != nullptr ? a.view : a.node)->outputs = nodes[n].outputs;
    if (charges.size() > 1) a.node->charges = charges;
    gone.insert(n);
  }
  drop_nodes(graph, std::move(nodes), gone);
}

// The count of correct rows joins the loss of the same scores and labels.
void fuse_counts(Graph& graph) {
  std::vector<Node> nodes = graph.nodes();
  std::set<std::size_t> gone;
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].op != "count_correct") continue;
    const auto loss = std::find_if(nodes.begin(), nodes.end(), [&](const Node& node) {
      return node.op == "cross_entropy" && node.inputs == nodes[n].inputs && !node.attrs.has("correct");
    });
    // Readers of the count must come after the loss.
    if (loss == nodes.end() || loss - nodes.begin() > std::ptrdiff_t(n)) continue;
    const std::vector<Charge> charges = charges_of(graph, {*loss, nodes[n]});
    loss->attrs.set("correct", std::int64_t{1});
    loss->outputs.push_back(nodes[n].outputs[0]);
    if (charges.size() > 1) loss->charges = charges;
    gone.insert(n);
  }
  drop_nodes(graph, std::move(nodes), gone);
}

// Two updates can be one node if these agree: operator, scalars, and all settings except the per-tensor
// flags.
bool same_settings(const Node& a, const Node& b, std::size_t scalars) {
  auto settings = [](const Node& update) {
    Attrs attrs = update.attrs;
    attrs.set("penalized", std::int64_t{0});
    return attrs;
  };
  return a.op == b.op && settings(a) == settings(b) &&
         std::equal(a.inputs.begin(), a.inputs.begin() + std::ptrdiff_t(scalars), b.inputs.begin());
}

// One flag per tensor that an update changes; absent: none is penalized.
std::vector<std::int64_t> penalized_of(const Node& update, const UpdateLayout& layout) {
  const std::size_t tensors = update.outputs.size() / (layout.stride() - 1);
  return update.attrs.integers("penalized", std::vector<std::int64_t>(tensors, 0));
}

Node joined(const Graph& graph, const std::vector<Node>& updates, const UpdateLayout& layout) {
  Node all = updates[0];
  if (updates.size() == 1) return all;
  std::vector<std::int64_t> penalized = penalized_of(all, layout);
  for (std::size_t n = 1; n < updates.size(); ++n) {
    const Node& next = updates[n];
    all.inputs.insert(all.inputs.end(), next.inputs.begin() + std::ptrdiff_t(layout.scalars),
                      next.inputs.end());
    all.outputs.insert(all.outputs.end(), next.outputs.begin(), next.outputs.end());
    for (std::int64_t flag : penalized_of(next, layout)) penalized.push_back(flag);
  }
  all.attrs.set("penalized", penalized);
  all.charges = charges_of(graph, updates);
  return all;
}

// Merges updates with equal settings, for any optimizer, so that many small arrays cost one launch.
void gather_updates(Graph& graph) {
  struct Group {
    UpdateLayout layout;
    std::vector<Node> nodes;
  };
  std::vector<Node> kept, after;  // after: nodes that read an updated value
  std::set<ValueId> updated;
  std::vector<Group> groups;
  for (const Node& node : graph.nodes()) {
    const UpdateRule* rule = find_update_rule(node.op);
    const bool later = std::ranges::any_of(node.inputs, [&](ValueId id) { return updated.contains(id); });
    if (later || rule != nullptr) updated.insert(node.outputs.begin(), node.outputs.end());
    if (rule == nullptr) {
      (later ? after : kept).push_back(node);
      continue;
    }
    const UpdateLayout layout = layout_of(*rule, node.attrs);
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Group& g) {
      return same_settings(g.nodes[0], node, layout.scalars);
    });
    if (group != groups.end())
      group->nodes.push_back(node);
    else
      groups.push_back({layout, {node}});
  }
  for (const Group& group : groups) kept.push_back(joined(graph, group.nodes, group.layout));
  kept.insert(kept.end(), after.begin(), after.end());
  graph.replace_nodes(std::move(kept));
}

}  // namespace

void fuse(Graph& graph) {
  fuse_activations(graph);
  fuse_activation_gradients(graph);
  fuse_counts(graph);
  gather_updates(graph);
}

void drop_unused(Graph& graph) {
  std::set<ValueId> wanted(graph.outputs.begin(), graph.outputs.end());
  std::vector<Node> kept;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool updates = schema_of(node->op).aliases != nullptr;
    const bool read = std::any_of(node->outputs.begin(), node->outputs.end(),
                                  [&](ValueId id) { return wanted.count(id) > 0; });
    if (!updates && !read) continue;
    wanted.insert(node->inputs.begin(), node->inputs.end());
    kept.push_back(*node);
  }
  std::reverse(kept.begin(), kept.end());
  graph.replace_nodes(std::move(kept));
}

}  // namespace headroom
