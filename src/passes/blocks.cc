// In evaluation, folds into a convolution what follows it: normalisation by stored statistics, the sum of a
// residual connection, an activation.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

bool is_forward_convolution(const Node& node) { return node.op == "conv2d" || node.op == "conv2d_block"; }

// True if there is no activation or clip yet: more can be folded in.
bool ends_open(const Node& node) {
  return !node.attrs.has("activation") && !node.attrs.has("min") && !node.attrs.has("max");
}

bool has(const Node& node, const char* part) { return node.attrs.integer(part) != 0; }

// The same convolution as a conv2d_block.
Node as_block(Node node) {
  if (node.op == "conv2d_block") return node;
  node.op = "conv2d_block";
  node.attrs.set("bias", std::int64_t{node.inputs.size() > 2});
  node.attrs.set("norm", std::int64_t{0});
  node.attrs.set("residual", std::int64_t{0});
  return node;
}

class Blocks {
 public:
  explicit Blocks(Graph& graph) : graph_(graph), readers_(count_readers(graph)), nodes_(graph.nodes()) {
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for (ValueId out : nodes_[n].outputs) maker_[out] = n;
  }

  void run() {
    for (std::size_t n = 0; n < nodes_.size(); ++n) {
      const Node& node = nodes_[n];
      if (node.op == "batch_norm_inference")
        norm(n);
      else if (node.op == "add")
        residual(n);
      else if (node.op == "relu" || node.op == "sigmoid" || node.op == "tanh")
        activation(n);
      else if (node.op == "clip")
        clip(n);
    }
    std::vector<Node> kept;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (!gone_.count(n)) kept.push_back(std::move(nodes_[n]));
    graph_.replace_nodes(std::move(kept));
  }

 private:
  // The convolution that makes `value`, as a block, if `value` has no other reader.
  std::optional<Node> before(ValueId value) const {
    const auto it = maker_.find(value);
    if (it == maker_.end() || readers_.at(value) != 1 || !is_forward_convolution(nodes_[it->second]))
      return {};
    if (!ends_open(nodes_[it->second])) return {};
    return as_block(nodes_[it->second]);
  }

  // Puts the block in the place of node n: all its inputs exist there.
  void replace(std::size_t n, Node block) {
    const std::size_t old = maker_.at(block.outputs[0]);
    block.charges = charges_of(graph_, {nodes_[old], nodes_[n]});
    if (block.charges.size() == 1) block.charges.clear();
    block.outputs = nodes_[n].outputs;
    gone_.insert(old);
    nodes_[n] = std::move(block);
    maker_[nodes_[n].outputs[0]] = n;
  }

  void norm(std::size_t n) {
    const Node& node = nodes_[n];
    std::optional<Node> block = before(node.inputs[0]);
    if (!block || has(*block, "norm") || has(*block, "residual") || node.attrs.has("activation")) return;
    block->attrs.set("norm", std::int64_t{1});
    block->attrs.set("epsilon", node.attrs.real("epsilon", 1e-5));
    block->inputs.insert(block->inputs.end(), node.inputs.begin() + 1, node.inputs.end());
    replace(n, std::move(*block));
  }

  void residual(std::size_t n) {
    const Node& node = nodes_[n];
    const ValueId first = node.inputs[0], second = node.inputs[1];
    if (first == second || graph_.value(first).type != graph_.value(second).type) return;
    // Prefer the later of two convolutions: its result is more likely in the cache.
    const bool later = maker_.count(first) && maker_.count(second) && maker_.at(first) > maker_.at(second);
    for (const auto& [sum, other] : later ? std::vector{std::pair{first, second}, {second, first}}
                                          : std::vector{std::pair{second, first}, {first, second}}) {
      std::optional<Node> block = before(sum);
      if (!block || has(*block, "residual")) continue;
      block->attrs.set("residual", std::int64_t{1});
      block->inputs.push_back(other);
      return replace(n, std::move(*block));
    }
  }

  void activation(std::size_t n) {
    std::optional<Node> block = before(nodes_[n].inputs[0]);
    if (!block) return;
    block->attrs.set("activation", nodes_[n].op);
    replace(n, std::move(*block));
  }

  void clip(std::size_t n) {
    std::optional<Node> block = before(nodes_[n].inputs[0]);
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (!block) return;
    block->attrs.set("min", nodes_[n].attrs.real("min", -kInfinity));
    block->attrs.set("max", nodes_[n].attrs.real("max", kInfinity));
    replace(n, std::move(*block));
  }

  Graph& graph_;
  std::map<ValueId, int> readers_;
  std::vector<Node> nodes_;
  std::map<ValueId, std::size_t> maker_;
  std::set<std::size_t> gone_;
};

}  // namespace

void fuse_blocks(Graph& graph) { Blocks(graph).run(); }

}  // namespace headroom
