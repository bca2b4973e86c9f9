#include "models/onnx/order.h"

#include <set>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "models/onnx/onnx.pb.h"

namespace headroom::onnx {
namespace {

void collect(const GraphProto& graph, std::vector<std::string>& names) {
  for (const NodeProto& node : graph.node())
    for (std::string& name : names_read(node)) names.push_back(std::move(name));
  for (const ValueInfoProto& output : graph.output()) names.push_back(output.name());
}

// The producer of each name: a node, or -1 if it exists from the start.
using Makers = std::unordered_map<std::string_view, int>;

Makers makers_of(const GraphProto& graph, const std::string& file) {
  Makers makers;
  std::set<std::string_view> inputs, tensors;
  for (const ValueInfoProto& input : graph.input()) {
    if (!inputs.insert(input.name()).second) reject("{}: two inputs are called '{}'", file, input.name());
    makers.emplace(input.name(), -1);
  }
  for (const TensorProto& tensor : graph.initializer()) {
    if (!tensors.insert(tensor.name()).second) reject("{}: two tensors are called '{}'", file, tensor.name());
    makers.emplace(tensor.name(), -1);  // an input of that name is then not an input
  }
  for (int n = 0; n < graph.node_size(); ++n)
    for (const std::string& output : graph.node(n).output())
      if (!output.empty() && !makers.emplace(output, n).second)
        reject("{}: '{}' is made twice, the second time by {}", file, output, label_of(graph.node(n)));
  return makers;
}

class Sorter {
 public:
  Sorter(const GraphProto& graph, const std::string& file, bool outer)
      : graph_(graph), file_(file), outer_(outer), makers_(makers_of(graph, file)) {
    state_.resize(static_cast<std::size_t>(graph.node_size()), State::unseen);
  }

  std::vector<const NodeProto*> run() && {
    for (const ValueInfoProto& output : graph_.output()) {
      const auto maker = makers_.find(output.name());
      if (maker == makers_.end() && !outer_)
        reject("{}: no node makes the output '{}'", file_, output.name());
      if (maker != makers_.end() && maker->second >= 0) visit(maker->second);
    }
    return std::move(order_);
  }

 private:
  enum class State { unseen, open, done };
  struct Frame {
    int node;
    std::vector<int> before;  // nodes it reads, the next one last
  };

  std::vector<int> read_by(int n) const {
    std::vector<int> nodes;
    const NodeProto& node = graph_.node(n);
    for (const std::string& name : node.input())
      if (!name.empty() && !outer_ && !makers_.contains(name))
        reject("{}: {} reads '{}', which nothing makes", file_, label_of(node), name);
    for (const std::string& name : names_read(node))
      if (const auto it = makers_.find(name); it != makers_.end() && it->second >= 0)
        nodes.push_back(it->second);
    return {nodes.rbegin(), nodes.rend()};
  }

  // Depth first, without recursion: a chain may be longer than the stack.
  void visit(int first) {
    std::vector<Frame> stack;
    auto enter = [&](int n) {
      State& state = state_[static_cast<std::size_t>(n)];
      if (state == State::open)
        reject("{}: {} depends on itself, in a circle", file_, label_of(graph_.node(n)));
      if (state == State::done) return;
      state = State::open;
      stack.push_back({n, read_by(n)});
    };
    enter(first);
    while (!stack.empty()) {
      Frame& top = stack.back();
      if (!top.before.empty()) {
        const int next = top.before.back();
        top.before.pop_back();
        enter(next);
        continue;
      }
      state_[static_cast<std::size_t>(top.node)] = State::done;
      order_.push_back(&graph_.node(top.node));
      stack.pop_back();
    }
  }

  const GraphProto& graph_;
  const std::string& file_;
  bool outer_;
  Makers makers_;
  std::vector<State> state_;
  std::vector<const NodeProto*> order_;
};

}  // namespace

std::vector<std::string> names_read(const NodeProto& node) {
  std::vector<std::string> names(node.input().begin(), node.input().end());
  for (const AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) collect(attribute.g(), names);
    for (const GraphProto& graph : attribute.graphs()) collect(graph, names);
  }
  return names;
}

std::string label_of(const NodeProto& node) {
  if (!node.name().empty()) return fmt::format("{} '{}'", node.op_type(), node.name());
  return fmt::format("{} that makes '{}'", node.op_type(), node.output_size() > 0 ? node.output(0) : "");
}

std::vector<const NodeProto*> live_order(const GraphProto& graph, const std::string& file, bool outer) {
  if (graph.output_size() == 0) reject(Hint{"export it again"}, "{} has no outputs", file);
  return Sorter(graph, file, outer).run();
}

}  // namespace headroom::onnx
