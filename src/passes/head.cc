#include <algorithm>
#include <optional>

#include "ops/classifier_head/split.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

// The position of the only node of its kind; kNone if there is none or more than one.
template <class Is>
NodeId only(const Graph& graph, Is&& is) {
  NodeId found = kNone;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    if (!is(graph.nodes()[n])) continue;
    if (found != kNone) return kNone;
    found = static_cast<NodeId>(n);
  }
  return found;
}

struct Head {
  NodeId linear, loss, loss_grad, input_grad, weight_grad, bias_grad, hidden_bias_grad;
  std::vector<NodeId> all() const {
    return {linear, loss, loss_grad, input_grad, weight_grad, bias_grad, hidden_bias_grad};
  }
};

bool is_one(const Value& value) {
  return value.role == Role::constant && value.producer == kNone &&
         value.init.kind == Initializer::Kind::constant && value.init.scale == 1;
}

// A layer whose slope follows from its output, and whose bias needs the sums of dz.
bool is_hidden_layer(const Graph& graph, ValueId h, const Node& input_grad) {
  const NodeId from = graph.value(h).producer;
  if (from == kNone) return false;
  const Node& layer = graph.node(from);
  return layer.op == "linear" && layer.inputs.size() == 3 &&
         layer.attrs.text("activation") == input_grad.attrs.text("activation_grad");
}

bool takes_sizes(const Graph& graph, const Node& linear) {
  const Shape &h = graph.value(linear.inputs[0]).type.shape, &w = graph.value(linear.inputs[1]).type.shape;
  return h.rank() == 2 && HeadSplit::fits(w[1], w[0]);
}

// The only bias_grad that reads `value`, if there is one.
NodeId bias_grad_of(const Graph& graph, ValueId value) {
  return only(graph,
              [&](const Node& n) { return n.op == "bias_grad" && n.inputs == std::vector<ValueId>{value}; });
}

std::optional<Head> find_head(const Graph& graph) {
  const auto readers = count_readers(graph);
  const auto reads = [&](ValueId id) {
    const auto it = readers.find(id);
    return it == readers.end() ? 0 : it->second;
  };
  Head head{};
  head.loss = only(graph, [](const Node& n) { return n.op == "cross_entropy"; });
  if (head.loss == kNone) return {};
  const Node& loss = graph.node(head.loss);
  const ValueId logits = loss.inputs[0], labels = loss.inputs[1];
  if (loss.outputs.size() != 3 || loss.attrs.integer("global_batch") != 0 || reads(logits) != 1) return {};

  head.linear = graph.value(logits).producer;
  if (head.linear == kNone) return {};
  const Node& linear = graph.node(head.linear);
  if (linear.op != "linear" || linear.inputs.size() != 3 || linear.attrs.has("activation")) return {};
  if (!takes_sizes(graph, linear)) return {};
  const ValueId h = linear.inputs[0], w = linear.inputs[1];

  const ValueId probabilities = loss.outputs[1];
  head.loss_grad = only(graph, [&](const Node& n) {
    return n.op == "cross_entropy_grad" && n.inputs[1] == probabilities && n.inputs[2] == labels;
  });
  if (head.loss_grad == kNone || reads(probabilities) != 1) return {};
  const Node& loss_grad = graph.node(head.loss_grad);
  if (!is_one(graph.value(loss_grad.inputs[0])) || loss_grad.attrs.integer("global_batch") != 0) return {};

  const ValueId d = loss_grad.outputs[0];
  head.input_grad = only(graph, [&](const Node& n) {
    return n.op == "matmul" && n.inputs == std::vector<ValueId>{d, w, h} && n.attrs.integer("trans_a") == 0 &&
           n.attrs.integer("trans_b") == 0;
  });
  head.weight_grad = only(graph, [&](const Node& n) {
    return n.op == "matmul" && n.inputs == std::vector<ValueId>{d, h} && n.attrs.integer("trans_a") == 1 &&
           n.attrs.integer("trans_b") == 0;
  });
  head.bias_grad = bias_grad_of(graph, d);
  if (head.input_grad == kNone || head.weight_grad == kNone || head.bias_grad == kNone || reads(d) != 3)
    return {};
  // Only the last layer and its two gradients may read h.
  if (reads(h) != 3 || !is_hidden_layer(graph, h, graph.node(head.input_grad))) return {};
  head.hidden_bias_grad = bias_grad_of(graph, graph.node(head.input_grad).outputs[0]);
  if (head.hidden_bias_grad == kNone) return {};
  return head;
}

}  // namespace

void fuse_head(Graph& graph) {
  const std::optional<Head> head = find_head(graph);
  if (!head) return;
  std::vector<Node> parts;
  for (NodeId id : head->all()) parts.push_back(graph.node(id));
  const Node &linear = parts[0], &loss = parts[1], &input_grad = parts[3];
  Node fused{.op = "classifier_head",
             .attrs = {{"activation_grad", input_grad.attrs.text("activation_grad")}},
             .inputs = {linear.inputs[0], linear.inputs[1], linear.inputs[2], loss.inputs[1]},
             .outputs = {loss.outputs[0], loss.outputs[2], input_grad.outputs[0], parts[4].outputs[0],
                         parts[5].outputs[0], parts[6].outputs[0]},
             .layer = loss.layer,
             .phase = loss.phase,
             .charges = charges_of(graph, parts)};
  // The head goes where the loss was: its inputs exist there, and its readers come later.
  const std::vector<NodeId> gone = head->all();
  std::vector<Node> kept;
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const auto id = static_cast<NodeId>(n);
    if (id == head->loss)
      kept.push_back(fused);
    else if (std::find(gone.begin(), gone.end(), id) == gone.end())
      kept.push_back(graph.nodes()[n]);
  }
  graph.replace_nodes(std::move(kept));
}

}  // namespace headroom
