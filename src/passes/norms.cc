#include <algorithm>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

class NormFusion {
 public:
  NormFusion(Graph& graph, const Target& target)
      : graph_(graph), target_(target), readers_(count_readers(graph)), nodes_(graph.nodes()) {}

  void run() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      if (nodes_[n].op == "relu") fuse_forward(n);
      if (nodes_[n].op == "relu_grad" && !fuse_backward(n)) fuse_bias(n);
    }
    drop_nodes(graph_, std::move(nodes_), gone_);
  }

 private:
  static bool is_plain_norm(const Node& node) {
    return (node.op == "batch_norm" || node.op == "batch_norm_inference") && node.inputs.size() == 5 &&
           !node.attrs.has("activation");
  }

  bool runs(const Node& node) const {
    Problem p{.op = node.op, .inputs = {}, .outputs = {}, .attrs = node.attrs};
    for (ValueId id : node.inputs) p.inputs.push_back(graph_.value(id).type);
    for (ValueId id : node.outputs) p.outputs.push_back(graph_.value(id).type);
    return runs_on(p, target_);
  }

  // Puts `fused` in the place of node n and removes all its parts.
  void replace(std::size_t n, Node fused, const std::vector<std::size_t>& parts) {
    std::vector<Node> old;
    for (std::size_t part : parts) old.push_back(nodes_[part]);
    if (auto charges = charges_of(graph_, old); charges.size() > 1) fused.charges = std::move(charges);
    for (std::size_t part : parts)
      if (part != n) gone_.insert(part);
    nodes_[n] = std::move(fused);
  }

  std::size_t place_of(const Node* node) const { return static_cast<std::size_t>(node - nodes_.data()); }

  Node* sole(ValueId value) { return sole_producer(graph_, nodes_, readers_, value); }

  // relu(norm), or relu(norm + z) if z exists by then: the fused node replaces relu.
  void fuse_forward(std::size_t n) {
    const ValueId y = nodes_[n].outputs[0];
    Node* before = sole(nodes_[n].inputs[0]);
    if (before == nullptr) return;
    if (is_plain_norm(*before)) return fuse_norm(n, *before, y, {}, {});
    if (before->op != "add" || before->inputs[0] == before->inputs[1]) return;
    // Prefer the later of two norms: its input need not be kept as long.
    for (std::size_t i : {std::size_t{1}, std::size_t{0}}) {
      Node* norm = sole(before->inputs[i]);
      if (norm == nullptr || !is_plain_norm(*norm)) continue;
      if (Node* other = sole(before->inputs[1 - i]);
          i == 1 && other != nullptr && is_plain_norm(*other) && other > norm)
        continue;
      const ValueId z = before->inputs[1 - i];
      if (graph_.value(z).type != graph_.value(y).type) continue;
      return fuse_norm(n, *norm, y, {z}, {place_of(before)});
    }
  }

  void fuse_norm(std::size_t n, const Node& norm, ValueId y, const std::vector<ValueId>& residual,
                 std::vector<std::size_t> parts) {
    Node fused = norm;
    fused.attrs.set("activation", std::string("relu"));
    fused.inputs.insert(fused.inputs.end(), residual.begin(), residual.end());
    fused.outputs[0] = y;
    if (!runs(fused)) return;
    parts.insert(parts.begin(), {place_of(&norm), n});
    replace(n, std::move(fused), parts);
  }

  // Folds relu_grad(dy, y) into batch_norm_grad. A sole reader recomputes the slope from x. If there are
  // other readers (a residual connection), the kernel also writes the slope and does a sum that made dy.
  bool fuse_backward(std::size_t n) {
    const ValueId dy = nodes_[n].inputs[0], y = nodes_[n].inputs[1], slope = nodes_[n].outputs[0];
    std::size_t found = nodes_.size();
    for (std::size_t k = n + 1; k < nodes_.size() && found == nodes_.size(); ++k)
      if (nodes_[k].op == "batch_norm_grad" && nodes_[k].inputs[0] == slope &&
          !nodes_[k].attrs.has("activation"))
        found = k;
    if (found == nodes_.size()) return false;
    const Node* norm = norm_of(nodes_[found]);
    if (norm == nullptr) return false;
    Node fused = nodes_[found];
    fused.attrs.set("activation", std::string("relu"));
    fused.inputs[0] = dy;
    fused.inputs.push_back(norm->inputs[2]);
    std::vector<std::size_t> parts = {n, found};
    if (readers_.at(slope) == 1 && norm->attrs.has("activation") && norm->inputs.size() == 5) {
      if (!runs(fused)) return false;
      replace(found, std::move(fused), parts);
      return true;
    }
    fused.inputs.push_back(y);
    fused.outputs.push_back(slope);
    fused.attrs.set("residual", std::int64_t{1});
    if (!runs(fused)) return false;
    if (Node* sum = sole(dy); sum != nullptr && sum->op == "add") {
      Node both = fused;
      both.inputs[0] = sum->inputs[0];
      both.inputs.push_back(sum->inputs[1]);
      if (runs(both)) fused = std::move(both), parts.push_back(place_of(sum));
    }
    replace(n, std::move(fused), parts);  // before all readers of the slope
    return true;
  }

  // Folds relu_grad into the bias_grad that reads it; the kernel also writes it for other readers.
  void fuse_bias(std::size_t n) {
    const ValueId slope = nodes_[n].outputs[0];
    for (std::size_t k = n + 1; k < nodes_.size(); ++k) {
      if (nodes_[k].op != "bias_grad" || nodes_[k].inputs != std::vector<ValueId>{slope}) continue;
      Node fused = nodes_[k];
      fused.inputs = nodes_[n].inputs;
      fused.outputs.push_back(slope);
      fused.attrs.set("activation_grad", std::string("relu"));
      if (runs(fused)) replace(n, std::move(fused), {n, k});
      return;
    }
  }

  // The norm of a gradient, found by the statistics it saved.
  const Node* norm_of(const Node& gradient) const {
    for (std::size_t k = 0; k < nodes_.size(); ++k)
      if (!gone_.count(k) && nodes_[k].op == "batch_norm" && nodes_[k].outputs.back() == gradient.inputs[4])
        return &nodes_[k];
    return nullptr;
  }

  Graph& graph_;
  const Target& target_;
  const std::map<ValueId, int> readers_;
  std::vector<Node> nodes_;
  std::set<std::size_t> gone_;
};

}  // namespace

void fuse_norms(Graph& graph, const Target& target) { NormFusion(graph, target).run(); }

}  // namespace headroom
