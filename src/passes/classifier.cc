#include <algorithm>

#include "ops/mlp_classifier/mlp_classifier.h"
#include "ops/updates/updates.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

struct SmallClassifier {
  NodeId linear = kNone, head = kNone, weight_grad = kNone;
};

// A head whose hidden layer is the first one, so that only the gradient of that layer's weights needs dz.
SmallClassifier find_small_classifier(const Graph& graph) {
  const std::vector<Node>& nodes = graph.nodes();
  const auto head = std::ranges::find(nodes, "classifier_head", &Node::op);
  if (head == nodes.end()) return {};
  const ValueId h = head->inputs[0], dz = head->outputs[2];
  const auto readers = count_readers(graph);
  const auto reads = [&](ValueId id) { return readers.contains(id) ? readers.at(id) : 0; };
  const NodeId from = graph.value(h).producer;
  if (from == kNone || reads(h) != 1 || reads(dz) != 1) return {};
  const Node& linear = graph.node(from);
  if (linear.op != "linear" || linear.inputs.size() != 3 ||
      graph.value(linear.inputs[0]).type.shape.rank() != 2 ||
      linear.attrs.text("activation") != head->attrs.text("activation_grad"))
    return {};
  const auto grad = std::ranges::find_if(nodes, [&](const Node& n) {
    return n.op == "matmul" && n.inputs == std::vector<ValueId>{dz, linear.inputs[0]} &&
           n.attrs.integer("trans_a") == 1 && n.attrs.integer("trans_b") == 0;
  });
  if (grad == nodes.end()) return {};
  return {from, static_cast<NodeId>(head - nodes.begin()), static_cast<NodeId>(grad - nodes.begin())};
}

// For each parameter of a classifier, which tensor of the update it is; empty where the update is not plain
// sgd of just these parameters by just these gradients.
std::vector<std::size_t> tensors_of(const Node& classifier, const Node& update) {
  constexpr std::size_t kParameters = MlpClassifierProblem::kParameters;
  const UpdateRule* rule = find_update_rule(update.op);
  if (rule == nullptr || rule->name != "sgd") return {};
  const UpdateLayout layout = layout_of(*rule, update.attrs);
  if (!layout.states.empty() || update.outputs.size() != kParameters) return {};
  std::vector<std::size_t> tensors;
  for (std::size_t i = 0; i < kParameters; ++i)
    for (std::size_t t = 0; t < kParameters; ++t)
      if (update.inputs[layout.in(t)] == classifier.inputs[1 + i] &&
          update.inputs[layout.in(t) + 1] == classifier.outputs[2 + i])
        tensors.push_back(t);
  return tensors.size() == kParameters ? tensors : std::vector<std::size_t>{};
}

// The nodes of a step that a classifier can take over. Penalty and tally: kNone if there is none.
struct ClassifierStep {
  NodeId classifier = kNone, update = kNone, penalty = kNone, tally = kNone;
  bool has(NodeId id) const { return id == classifier || id == update || id == penalty || id == tally; }
};

bool is_among(ValueId id, const std::vector<ValueId>& list, std::size_t begin, std::size_t end) {
  return std::find(list.begin() + std::ptrdiff_t(begin), list.begin() + std::ptrdiff_t(end), id) !=
         list.begin() + std::ptrdiff_t(end);
}

// For each parameter a flag: does the update penalize it?
std::vector<std::int64_t> penalized_by(const Node& update, const std::vector<std::size_t>& tensors) {
  const auto flags = update.attrs.integers("penalized", std::vector<std::int64_t>(tensors.size(), 0));
  std::vector<std::int64_t> list;
  for (const std::size_t tensor : tensors) list.push_back(flags[tensor]);
  return list;
}

// Does the node add the penalty to the loss by which the update penalizes?
bool is_penalty_of(const Node& node, const Node& classifier, const Node& update) {
  if (node.op != "l2_penalty" || node.attrs.integer("has_base") == 0 ||
      node.inputs[0] != classifier.outputs[0] || node.attrs.real("lambda") != update.attrs.real("l2"))
    return false;
  std::vector<ValueId> wanted, own(node.inputs.begin() + 1, node.inputs.end());
  const auto flags = penalized_by(update, tensors_of(classifier, update));
  for (std::size_t i = 0; i < flags.size(); ++i)
    if (flags[i] != 0) wanted.push_back(classifier.inputs[1 + i]);
  std::ranges::sort(wanted), std::ranges::sort(own);
  return own == wanted;
}

ClassifierStep find_step(const Graph& graph) {
  const std::vector<Node>& nodes = graph.nodes();
  const auto position = [&](auto&& is) {
    const auto found = std::ranges::find_if(nodes, is);
    return found == nodes.end() ? kNone : static_cast<NodeId>(found - nodes.begin());
  };
  ClassifierStep step;
  step.classifier = position([](const Node& n) { return n.op == "mlp_classifier"; });
  if (step.classifier == kNone) return step;
  const Node& classifier = graph.node(step.classifier);
  step.update = position([&](const Node& n) { return !tensors_of(classifier, n).empty(); });
  if (step.update == kNone) return step;
  const Node& update = graph.node(step.update);
  const auto readers = count_readers(graph);
  const auto reads = [&](ValueId id) { return readers.contains(id) ? readers.at(id) : 0; };
  if (reads(classifier.outputs[0]) == 1)
    step.penalty = position([&](const Node& n) { return is_penalty_of(n, classifier, update); });
  const ValueId loss = step.penalty == kNone ? classifier.outputs[0] : graph.node(step.penalty).outputs[0];
  step.tally = position([&](const Node& n) {
    return n.op == "tally" && n.inputs.size() == 3 && n.inputs[0] == loss &&
           n.inputs[1] == classifier.outputs[1];
  });
  return step;
}

// May all of it run with the updates, where the classifier changes its parameters? Not if somebody else reads
// a gradient, or the loss or an old parameter by then.
bool may_wait(const Graph& graph, const ClassifierStep& step) {
  const Node &classifier = graph.node(step.classifier), &update = graph.node(step.update);
  const auto readers = count_readers(graph);
  for (std::size_t i = 2; i < classifier.outputs.size(); ++i)
    if (readers.at(classifier.outputs[i]) != 1) return false;
  std::vector<ValueId> results(classifier.outputs.begin(), classifier.outputs.begin() + 2);
  if (step.penalty != kNone) results.push_back(graph.node(step.penalty).outputs[0]);
  for (std::size_t n = 0; n < graph.nodes().size(); ++n) {
    const Node& other = graph.nodes()[n];
    const auto id = static_cast<NodeId>(n);
    if (step.has(id)) continue;
    for (const ValueId in : other.inputs) {
      const bool result = is_among(in, results, 0, results.size()),
                 parameter = is_among(in, classifier.inputs, 1, 5),
                 updated = is_among(in, update.outputs, 0, update.outputs.size());
      if ((result && other.phase != Phase::update) || (updated && id < step.update)) return false;
      if (parameter && other.phase == Phase::update && id > step.classifier) return false;
    }
  }
  return true;
}

}  // namespace

void fuse_small_classifier(Graph& graph, const std::function<bool(const Problem&)>& wanted) {
  const SmallClassifier found = find_small_classifier(graph);
  if (found.head == kNone) return;
  const std::vector<Node> parts = {graph.node(found.linear), graph.node(found.head),
                                   graph.node(found.weight_grad)};
  const Node &linear = parts[0], &head = parts[1], &weight_grad = parts[2];
  Node fused{.op = "mlp_classifier",
             .attrs = {{"activation", head.attrs.text("activation_grad")}},
             .inputs = {linear.inputs[0], linear.inputs[1], linear.inputs[2], head.inputs[1], head.inputs[2],
                        head.inputs[3]},
             .outputs = {head.outputs[0], head.outputs[1], weight_grad.outputs[0], head.outputs[5],
                         head.outputs[3], head.outputs[4]},
             .layer = head.layer,
             .phase = head.phase,
             .charges = charges_of(graph, parts)};
  if (!wanted(problem_of(graph, fused))) return;
  std::vector<Node> nodes = graph.nodes();
  nodes[static_cast<std::size_t>(found.head)] = std::move(fused);
  drop_nodes(graph, std::move(nodes),
             {static_cast<std::size_t>(found.linear), static_cast<std::size_t>(found.weight_grad)});
}

void fuse_classifier_update(Graph& graph, const std::function<bool(const Problem&)>& wanted) {
  const ClassifierStep step = find_step(graph);
  if (step.update == kNone || !may_wait(graph, step)) return;
  const Node &classifier = graph.node(step.classifier), &update = graph.node(step.update);
  std::vector<Node> parts = {classifier, update};
  Node fused = classifier;
  fused.phase = Phase::update;
  fused.inputs.push_back(update.inputs[0]);
  const std::vector<std::size_t> tensors = tensors_of(classifier, update);
  for (std::size_t i = 0; i < tensors.size(); ++i) fused.outputs[2 + i] = update.outputs[tensors[i]];
  fused.attrs.set("l2", update.attrs.real("l2"));
  fused.attrs.set("penalized", penalized_by(update, tensors));
  std::set<std::size_t> gone = {static_cast<std::size_t>(step.update)};
  if (step.penalty != kNone) {
    parts.push_back(graph.node(step.penalty));
    fused.attrs.set("penalty", std::int64_t{1});
    fused.outputs[0] = parts.back().outputs[0];
    gone.insert(static_cast<std::size_t>(step.penalty));
  }
  if (step.tally != kNone) {
    parts.push_back(graph.node(step.tally));
    fused.attrs.set("count", parts.back().attrs.integer("count", 1));
    fused.inputs.push_back(parts.back().inputs[2]);
    fused.outputs.push_back(parts.back().outputs[0]);
    gone.insert(static_cast<std::size_t>(step.tally));
  }
  fused.charges = charges_of(graph, parts);
  if (!wanted(problem_of(graph, fused))) return;
  std::vector<Node> kept = graph.nodes();
  kept[static_cast<std::size_t>(step.classifier)] = std::move(fused);
  drop_nodes(graph, std::move(kept), gone);
}

}  // namespace headroom
