#pragma once

// How values flow through a file's nodes, by name: what depends on the data, and what a gradient reaches.
// Works on names and operators alone, so that the answer is the same for every batch.

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace headroom::onnx {

class GraphProto;
class NodeProto;

struct Use {
  const NodeProto* node = nullptr;
  int input = 0;
};

class Flow {
 public:
  // `order`: the nodes of the outer graph, each after those it reads. Follows both branches of an If.
  Flow(const GraphProto& graph, const std::vector<const NodeProto*>& order);

  bool is_data(const std::string& name) const { return data_.contains(name); }
  bool is_input(const std::string& name) const { return inputs_.contains(name); }
  bool gets_gradient(const std::string& name) const { return reached_.contains(name); }
  bool is_output(const std::string& name) const { return outputs_.contains(name); }
  const NodeProto* maker(const std::string& name) const;  // null: an input or a stored tensor
  const std::vector<Use>& uses(const std::string& name) const;
  const std::vector<const NodeProto*>& nodes() const { return nodes_; }
  int rank_of_input(const std::string& name) const { return inputs_.at(name); }

  bool reads_data(const NodeProto& node) const;
  // The only input that depends on the data; empty if there is none, or more than one.
  std::string data_input(const NodeProto& node) const;
  // The data arrives here from a graph input without any product or function in between: only moves, and
  // arithmetic with stored numbers.
  bool is_plain_input(const std::string& name) const { return plain_.contains(name); }
  // True if `name`, made from stored numbers alone, is computed with one of these operators.
  bool computed_with(const std::string& name, const std::set<std::string_view>& ops) const;
  // True if `found` holds for a use of the value, or of what moves and the operators `between` make of it.
  bool feeds(const std::string& name, const std::function<bool(const Use&)>& found,
             const std::set<std::string_view>& between = {}) const;
  // The node that made a value, before it was moved.
  const NodeProto* maker_before_moves(const std::string& name) const;

 private:
  void add(const std::vector<const NodeProto*>& order);
  void mark_data();
  void mark_plain_inputs();
  void mark_gradients();

  std::vector<const NodeProto*> nodes_;  // with those of branches, each after those it reads
  std::unordered_map<std::string, const NodeProto*> makers_;
  std::unordered_map<std::string, std::vector<Use>> uses_;
  std::unordered_map<std::string, int> inputs_;  // ranks
  std::set<std::string> data_, plain_, reached_, outputs_;
};

// Operators of quantised networks. Their results are integers, or depend on integers: they have no gradient.
bool is_quantized(std::string_view op);
// True if the operator only moves elements, or changes their type.
bool only_moves(std::string_view op);
// True if a gradient passes from the node's results to this input: no index, no shape, no comparison.
bool passes_gradient(const NodeProto& node, int input);

}  // namespace headroom::onnx
