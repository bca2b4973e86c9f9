// Model parallel: splits linear layers in pairs, the first by output rows, the second by input columns.
#include <algorithm>

#include "base/error.h"
#include "base/shares.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

// Only in training: what is evaluated must be cut in the same places, where there is no trace of it. Each
// rank draws for the units it has, from numbers of its own.
constexpr const char* kDropout = "dropout";

struct Pair {
  std::size_t first, second;  // nodes
  std::vector<std::size_t> between;
};

bool is_linear(const Graph& graph, const Node& node) {
  return node.op == "linear" && graph.value(node.inputs[1]).role == Role::parameter;
}

// The only node that reads a value; none if there are several, or if the caller reads it.
std::optional<std::size_t> only_reader(const Graph& graph, const std::map<ValueId, int>& readers,
                                       ValueId value) {
  const auto it = readers.find(value);
  if (it == readers.end() || it->second != 1) return std::nullopt;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    if (std::ranges::count(graph.nodes()[n].inputs, value) > 0) return n;
  return std::nullopt;
}

std::optional<Pair> pair_from(const Graph& graph, const std::map<ValueId, int>& readers, std::size_t first) {
  Pair pair{first, 0, {}};
  std::size_t at = first;
  while (true) {
    const auto next = only_reader(graph, readers, graph.nodes()[at].outputs[0]);
    if (!next) return std::nullopt;
    const Node& node = graph.nodes()[*next];
    if (is_linear(graph, node) && node.inputs[0] == graph.nodes()[at].outputs[0]) {
      pair.second = *next;
      return pair;
    }
    const bool drops = node.op == kDropout && node.inputs[0] == graph.nodes()[at].outputs[0];
    if (!drops && schema_of(node.op).elementwise != 1) return std::nullopt;
    pair.between.push_back(at = *next);
  }
}

void cut(Graph& graph, ValueId id, int axis, Share share) {
  Value& value = graph.value(id);
  if (value.init.kind == Initializer::Kind::from_data)
    reject(Hint{"take `parallel` data"}, "the layers of a network from a file cannot be split among ranks");
  value.part = Part{value.type.shape, axis, share.first, share.count};
  value.type.shape[axis] = share.count;
}

void narrow_last_axis(Graph& graph, ValueId id, std::int64_t extent) {
  Shape& shape = graph.value(id).type.shape;
  shape[shape.rank() - 1] = extent;
}

}  // namespace

int split_linears(Graph& graph, const Distribution& how) {
  if (how.model_parts <= 1) return 0;
  const auto readers = count_readers(graph);
  std::vector<Node> nodes = graph.nodes();
  std::map<std::size_t, std::vector<Node>> before, after;  // nodes to add
  std::vector<bool> taken(nodes.size(), false);
  const Attrs group = {{"group", std::string(kModelGroup)}};
  int pairs = 0;
  auto fresh = [&](std::string_view op, std::vector<ValueId> inputs, const Attrs& attrs,
                   const std::string& layer) {
    graph.add_node(op, std::move(inputs), attrs, layer);
    return graph.nodes().back();
  };
  const std::size_t count = nodes.size();
  for (std::size_t n = 0; n < count; ++n) {
    if (taken[n] || !is_linear(graph, nodes[n])) continue;
    const auto pair = pair_from(graph, readers, n);
    const std::int64_t hidden = graph.value(nodes[n].inputs[1]).type.shape[0];
    if (!pair || hidden < how.model_parts) continue;
    Node &first = nodes[pair->first], &second = nodes[pair->second];
    const Share share = share_of(hidden, how.model_parts, how.model_index);
    taken[pair->first] = taken[pair->second] = true;
    ++pairs;

    const Node enter = fresh("enter_split", {first.inputs[0]}, group, first.layer);
    before[pair->first].push_back(enter);
    first.inputs[0] = enter.outputs[0];
    cut(graph, first.inputs[1], 0, share);
    if (first.inputs.size() > 2) cut(graph, first.inputs[2], 0, share);
    narrow_last_axis(graph, first.outputs[0], share.count);
    for (std::size_t b : pair->between) {
      const std::int64_t whole = graph.value(nodes[b].outputs[0]).type.shape.numel();
      if (nodes[b].op == kDropout)
        nodes[b].attrs.set("first", nodes[b].attrs.integer("first") + how.model_index * whole);
      narrow_last_axis(graph, nodes[b].outputs[0], share.count);
    }
    cut(graph, second.inputs[1], 1, share);

    // First the product of a part, then the sum over ranks, and only then the bias.
    const ValueId output = second.outputs[0];
    const TensorType type = graph.value(output).type;
    const ValueId part = graph.add_value({.name = graph.value(output).name + ".part", .type = type});
    second.outputs[0] = part;
    graph.value(part).producer = static_cast<NodeId>(pair->second);
    Node sum = fresh("all_reduce", {part}, group, second.layer);
    if (second.inputs.size() > 2) {
      const ValueId bias = second.inputs[2];
      second.inputs.pop_back();
      after[pair->second].push_back(sum);
      sum = fresh("add", {sum.outputs[0], bias}, {}, second.layer);
    }
    sum.outputs[0] = output;
    after[pair->second].push_back(sum);
  }
  std::vector<Node> list;
  for (std::size_t n = 0; n < count; ++n) {
    for (Node& node : before[n]) list.push_back(std::move(node));
    list.push_back(std::move(nodes[n]));
    for (Node& node : after[n]) list.push_back(std::move(node));
  }
  graph.replace_nodes(std::move(list));
  return pairs;
}

}  // namespace headroom
