#pragma once

// A file being written: the names of its parts, its nodes and constants. NodeWriter is the view that writers
// of nodes get.

#include <map>
#include <set>
#include <string>

#include "models/onnx/onnx.pb.h"
#include "models/onnx/write.h"
#include "models/onnx/write_node.h"

namespace headroom::onnx {

class FileWriter {
 public:
  FileWriter(const std::string& name, const ForwardGraph& forward, const ForwardGraph* other,
             const Elements& elements);
  std::string write();

  const Graph& graph() const { return *forward_.graph; }
  const Graph& other_graph() const { return other_ ? *other_->graph : graph(); }
  std::int64_t opset() const { return opset_; }

  // Weights are written when first read: unread ones are not part of the file.
  std::string name_of_value(ValueId id);
  // The name of a node's output, set when the node is written.
  const std::string& give_name(ValueId id, const std::string& wanted);
  const std::string& node_name(NodeId id) const { return node_names_.at(id); }
  std::string unique(const std::string& wanted) { return unique_in(taken_, wanted); }
  std::string unique_node(const std::string& wanted) { return unique_in(taken_nodes_, wanted); }

  // The batch of each of the two graphs; 0 if it is fixed.
  std::pair<std::int64_t, std::int64_t> batches() const;
  std::string batch_name();  // a vector that holds the batch; nodes that make it are added on first use

  // Tensors, each under the name that is returned. Trained floats are initializers, constant floats are in
  // Constant nodes, so that whoever reads the file can tell them apart. Integers may be either.
  std::string store(const std::string& wanted, const NamedTensor& tensor);
  std::string constant(const std::string& wanted, const NamedTensor& tensor);
  // True if a node or an output of the network reads it.
  bool is_read(ValueId id) const { return read_.contains(id); }
  void set_texts(const std::string& attribute, const Names& texts);  // of the last node
  NodeProto& add_node(std::string_view op, const Names& in, const Attrs& attributes, const Names& out);

 private:
  GraphProto& file() { return *model_.mutable_graph(); }
  static std::string unique_in(std::set<std::string>& taken, const std::string& wanted);
  void require_twins() const;
  void set_tensor(TensorProto& proto, const NamedTensor& tensor);
  void take(const std::string& name);
  void name_outputs();
  void name_nodes();
  void write_node(NodeId id);
  void describe(ValueInfoProto& info, const std::string& name, ValueId id) const;

  const ForwardGraph& forward_;
  const ForwardGraph* other_;
  const Elements& elements_;
  ModelProto model_;
  std::int64_t opset_ = 0;
  std::size_t stored_ = 0;
  std::string batch_name_;
  std::set<ValueId> read_;
  std::map<ValueId, std::string> names_;
  std::map<NodeId, std::string> node_names_;
  std::set<std::string> taken_, taken_nodes_;  // of values, of nodes
};

}  // namespace headroom::onnx
