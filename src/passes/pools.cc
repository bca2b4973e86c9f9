// In evaluation, lets a convolution pool its own result: the large tensor between the two is never stored.
#include "ops/conv2d/conv2d.h"
#include "ops/operator.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

bool is_pool(const Node& node) { return node.op == "max_pool" || node.op == "avg_pool"; }

bool is_pooled_block(const Node& node) { return node.op == "conv2d_block" && node.attrs.has("pool"); }

class PooledBlocks {
 public:
  PooledBlocks(Graph& graph, const std::function<bool(const Problem&)>& wanted)
      : graph_(graph), wanted_(wanted), readers_(count_readers(graph)), nodes_(graph.nodes()) {
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      for (ValueId out : nodes_[n].outputs) maker_[out] = n;
  }

  void run() {
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (is_pool(nodes_[n]))
        pool(n);
      else if (parse_activation(nodes_[n].op))
        activation(n);
    drop_nodes(graph_, std::move(nodes_), gone_);
  }

 private:
  // The node that makes `value`, if `value` has no other reader.
  const Node* before(ValueId value) const {
    const auto it = maker_.find(value);
    return it == maker_.end() || readers_.at(value) != 1 ? nullptr : &nodes_[it->second];
  }

  void pool(std::size_t n) {
    const Node* conv = before(nodes_[n].inputs[0]);
    if (conv == nullptr || conv->op != "conv2d") return;
    Node block = *conv;
    block.op = "conv2d_block";
    block.attrs.set("bias", std::int64_t{conv->inputs.size() > 2});
    block.attrs.set("norm", std::int64_t{0});
    block.attrs.set("residual", std::int64_t{0});
    for (const auto& [name, value] : block_pool_attrs(nodes_[n].op, nodes_[n].attrs))
      block.attrs.set(name, value);
    replace(n, std::move(block));
  }

  // Activations never decrease: the largest value stays the largest.
  void activation(std::size_t n) {
    const Node* from = before(nodes_[n].inputs[0]);
    if (from == nullptr || !is_pooled_block(*from)) return;
    if (from->attrs.text("pool") != "max" || from->attrs.has("activation")) return;
    Node block = *from;
    block.attrs.set("activation", nodes_[n].op);
    replace(n, std::move(block));
  }

  // Puts the block in the place of node n, if it is wanted.
  void replace(std::size_t n, Node block) {
    const std::size_t old = maker_.at(block.outputs[0]);
    block.charges = charges_of(graph_, {nodes_[old], nodes_[n]});
    if (block.charges.size() == 1) block.charges.clear();
    block.outputs = nodes_[n].outputs;
    if (!wanted_(problem_of(graph_, block))) return;
    gone_.insert(old);
    nodes_[n] = std::move(block);
    maker_[nodes_[n].outputs[0]] = n;
  }

  Graph& graph_;
  const std::function<bool(const Problem&)>& wanted_;
  std::map<ValueId, int> readers_;
  std::vector<Node> nodes_;
  std::map<ValueId, std::size_t> maker_;
  std::set<std::size_t> gone_;
};

}  // namespace

void fuse_pools(Graph& graph, const std::function<bool(const Problem&)>& wanted) {
  PooledBlocks(graph, wanted).run();
}

}  // namespace headroom
