#include <algorithm>
#include <utility>

#include "ops/fp16_parts/fp16_parts.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

// A product of two matrices, and the attributes of the parts_product in its place.
struct Found {
  ValueId a, b, bias = kNone;
  Attrs attrs;
};

bool is_fp32(const Graph& graph, ValueId id) { return graph.value(id).type.dtype == DType::f32; }

Found product_at(const Graph& graph, const Node& node) {
  const Shape &a = graph.value(node.inputs[0]).type.shape, &out = graph.value(node.outputs[0]).type.shape;
  Found found{.a = node.inputs[0], .b = node.inputs[1], .attrs = {{"shape", out.vector()}}};
  if (node.op == "linear") {
    found.attrs.set("k", a[a.rank() - 1]);
    found.attrs.set("trans_b", std::int64_t{1});
    if (node.inputs.size() > 2) found.bias = node.inputs[2];
    if (node.attrs.has("activation")) found.attrs.set("activation", node.attrs.text("activation"));
  } else {
    const std::int64_t trans_a = node.attrs.integer("trans_a"), trans_b = node.attrs.integer("trans_b");
    found.attrs.set("k", a[trans_a != 0 ? 0 : 1]);
    found.attrs.set("trans_a", trans_a);
    found.attrs.set("trans_b", trans_b);
  }
  return found;
}

// Of the network itself, perhaps in another shape.
bool is_input(const Graph& graph, const std::vector<Node>& nodes, ValueId id) {
  if (graph.value(id).role == Role::input) return true;
  const auto made = std::ranges::find_if(
      nodes, [id](const Node& node) { return node.op == "reshape" && node.outputs[0] == id; });
  return made != nodes.end() && is_input(graph, nodes, made->inputs[0]);
}

class Sharing {
 public:
  Sharing(Graph& graph, int parts, const std::function<bool(const Problem&)>& wanted)
      : graph_(graph), nodes_(graph.nodes()), parts_(parts) {
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (is_plain_product(nodes_[n]) && wanted(graph.problem(static_cast<NodeId>(n)))) chosen_.insert(n);
  }

  void run() {
    if (chosen_.empty()) return;
    let_heads_split();
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (chosen_.count(n) == 0)
        list_.push_back(nodes_[n]);
      else
        replace(nodes_[n]);
    }
    graph_.replace_nodes(std::move(list_));
  }

 private:
  struct Split {
    ValueId parts = kNone, scale = kNone;
  };

  bool is_plain_product(const Node& node) const {
    if (node.op != "linear" && node.op != "matmul") return false;
    for (ValueId in : node.inputs)
      if (!is_fp32(graph_, in)) return false;
    if (node.op == "linear") return true;
    const auto rank = [&](std::size_t i) { return graph_.value(node.inputs[i]).type.shape.rank(); };
    return node.inputs.size() == 2 && rank(0) == 2 && rank(1) == 2;
  }

  // A classifier's head writes dz in parts where only such products read it.
  void let_heads_split() {
    for (Node& head : nodes_) {
      if (head.op != "classifier_head") continue;
      const ValueId dz = head.outputs[2];
      if (!only_products_read(dz)) continue;
      head.attrs.set("parts", std::int64_t{parts_});
      const Split split = add_values(dz);
      head.outputs[2] = split.parts;
      head.outputs.push_back(split.scale);
      written_[dz] = split;
    }
  }

  bool only_products_read(ValueId id) const {
    if (std::ranges::find(graph_.outputs, id) != graph_.outputs.end()) return false;
    bool read = false;
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const std::vector<ValueId>& in = nodes_[n].inputs;
      if (std::ranges::find(in, id) == in.end()) continue;
      if (chosen_.count(n) == 0 || (in.size() > 2 && in[2] == id)) return false;
      read = true;
    }
    return read;
  }

  Split add_values(ValueId of) {
    const std::string name = graph_.value(of).name;
    const Role role = graph_.value(of).role == Role::gradient ? Role::gradient : Role::activation;
    const TensorType type = parts_type(graph_.value(of).type.shape, parts_);
    const ValueId parts = graph_.add_value({.name = name + ".parts", .type = type, .role = role});
    return {parts, graph_.add_value({.name = name + ".scale", .type = {{4}, DType::f32}, .role = role})};
  }

  // Parts that wait for the backward pass are memory that nobody else needs: only those of the network's own
  // inputs do, which are there once for all layers.
  Split& known_to(ValueId id, Phase phase) {
    if (const auto it = written_.find(id); it != written_.end()) return it->second;
    return known_[{id, is_input(graph_, nodes_, id) ? Phase::forward : phase}];
  }

  // Those of the two that are not split yet are split in one node.
  void split(const Found& product, const Node& reader) {
    Node node{.op = "fp16_parts",
              .attrs = {{"parts", std::int64_t{parts_}}},
              .layer = reader.layer,
              .phase = reader.phase};
    for (ValueId id : {product.a, product.b}) {
      Split& known = known_to(id, reader.phase);
      if (known.parts != kNone) continue;
      known = add_values(id);
      node.inputs.push_back(id);
      node.outputs.push_back(known.parts);
      node.outputs.push_back(known.scale);
    }
    if (!node.inputs.empty()) list_.push_back(std::move(node));
  }

  void replace(const Node& node) {
    const Found found = product_at(graph_, node);
    split(found, node);
    const Split a = known_to(found.a, node.phase), b = known_to(found.b, node.phase);
    Node product = node;
    product.op = "parts_product";
    product.attrs = found.attrs;
    product.inputs = {a.parts, a.scale, b.parts, b.scale};
    if (found.bias != kNone) product.inputs.push_back(found.bias);
    list_.push_back(std::move(product));
  }

  Graph& graph_;
  std::vector<Node> nodes_, list_;
  std::set<std::size_t> chosen_;
  std::map<ValueId, Split> written_;                  // by a head
  std::map<std::pair<ValueId, Phase>, Split> known_;  // to the products of a phase
  const int parts_;
};

}  // namespace

std::vector<InputProducts> products_of_inputs(const Graph& graph) {
  std::vector<InputProducts> found;
  const std::vector<Node>& nodes = graph.nodes();
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].op != "linear" || !is_input(graph, nodes, nodes[n].inputs[0])) continue;
    for (std::size_t g = n + 1; g < nodes.size(); ++g)
      if (nodes[g].op == "matmul" && nodes[g].inputs[1] == nodes[n].inputs[0] &&
          nodes[g].attrs.integer("trans_a") != 0)
        found.push_back({graph.problem(static_cast<NodeId>(n)), graph.problem(static_cast<NodeId>(g))});
  }
  return found;
}

void share_parts(Graph& graph, int parts, const std::function<bool(const Problem&)>& wanted) {
  Sharing(graph, parts, wanted).run();
}

}  // namespace headroom
