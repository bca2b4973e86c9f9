#include "models/onnx/functions.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "models/onnx/file.h"
#include "models/onnx/onnx.pb.h"
#include "models/onnx/order.h"

namespace headroom::onnx {
namespace {

using NameMap = std::map<std::string, std::string>;  // inside a body: outside
using NodeList = google::protobuf::RepeatedPtrField<NodeProto>;
constexpr std::size_t kMaxNodes = 4'000'000;

bool is_own(const std::string& domain) { return domain.empty() || domain == "ai.onnx"; }

class Inliner {
 public:
  Inliner(const File& file, const ModelProto& model) : file_(file) {
    for (const FunctionProto& f : model.functions())
      functions_[key_of(f.domain(), f.name(), f.overload())] = &f;
  }

  // Expands the calls of a list of nodes and of the graphs inside them.
  void expand(NodeList& nodes) {
    NodeList expanded;
    for (NodeProto& node : nodes) append(node, expanded);
    nodes.Swap(&expanded);
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string>;
  static Key key_of(const std::string& domain, const std::string& name, const std::string& overload) {
    return {is_own(domain) ? "" : domain, name, overload};
  }

  void append(NodeProto& node, NodeList& to) {
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) expand(*attribute.mutable_g()->mutable_node());
      for (GraphProto& graph : *attribute.mutable_graphs()) expand(*graph.mutable_node());
    }
    const auto it = functions_.find(key_of(node.domain(), node.op_type(), node.overload()));
    if (it == functions_.end()) {
      if (++count_ > kMaxNodes) reject("{}: its functions make more than {} nodes", file_.name(), kMaxNodes);
      to.Add(std::move(node));
      return;
    }
    const FunctionProto& function = *it->second;
    if (!open_.insert(&function).second)
      reject(Hint{"export it without recursion"}, "{}: function '{}' calls itself", file_.name(),
             function.name());
    NodeList body = body_of(function, node);
    for (NodeProto& inner : body) append(inner, to);
    open_.erase(&function);
  }

  // The nodes of a function with the names and attributes of one call.
  NodeList body_of(const FunctionProto& function, const NodeProto& call) {
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      reject("{}: {} gives {} inputs and {} outputs to a function of {} and {}", file_.name(), label_of(call),
             call.input_size(), call.output_size(), function.input_size(), function.output_size());
    const std::string prefix = fmt::format(
        "{}/", call.name().empty() ? fmt::format("{}_{}", function.name(), ++calls_) : call.name());
    NameMap names = {{"", ""}};
    for (int i = 0; i < function.input_size(); ++i)
      names[function.input(i)] = i < call.input_size() ? call.input(i) : "";
    NodeList body = function.node();
    for (int i = 0; i < call.output_size(); ++i) {
      const std::string& inner = function.output(i);
      if (call.output(i).empty()) continue;
      if (names.try_emplace(inner, call.output(i)).second) continue;
      NodeProto& copy = *body.Add();  // an input, or an output that was returned before
      copy.set_op_type("Identity");
      copy.add_input(inner);
      copy.add_output(fmt::format("{} as output {}", inner, i));
      names[copy.output(0)] = call.output(i);
    }
    for (NodeProto& node : body) {
      rename(node, names, prefix);
      give_attributes(node, function, call);
      set_opset(node, function);
    }
    return body;
  }

  static std::string renamed(const std::string& name, NameMap& names, const std::string& prefix) {
    return names.try_emplace(name, prefix + name).first->second;
  }

  static void rename(NodeProto& node, NameMap& names, const std::string& prefix) {
    for (std::string& name : *node.mutable_input()) name = renamed(name, names, prefix);
    for (std::string& name : *node.mutable_output()) name = renamed(name, names, prefix);
    if (!node.name().empty()) node.set_name(prefix + node.name());
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) rename(*attribute.mutable_g(), names, prefix);
      for (GraphProto& graph : *attribute.mutable_graphs()) rename(graph, names, prefix);
    }
  }

  static void rename(GraphProto& graph, NameMap& names, const std::string& prefix) {
    for (auto* list : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()})
      for (ValueInfoProto& info : *list) info.set_name(renamed(info.name(), names, prefix));
    for (TensorProto& tensor : *graph.mutable_initializer())
      tensor.set_name(renamed(tensor.name(), names, prefix));
    for (NodeProto& node : *graph.mutable_node()) rename(node, names, prefix);
  }

  // The call's attribute of that name, else the function's default; null: the node does without it.
  static const AttributeProto* given(const std::string& name, const FunctionProto& function,
                                     const NodeProto& call) {
    for (const auto* list : {&call.attribute(), &function.attribute_proto()})
      for (const AttributeProto& attribute : *list)
        if (attribute.name() == name) return &attribute;
    return nullptr;
  }

  static void give_attributes(NodeProto& node, const FunctionProto& function, const NodeProto& call) {
    google::protobuf::RepeatedPtrField<AttributeProto> kept;
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) give_attributes(*attribute.mutable_g(), function, call);
      for (GraphProto& graph : *attribute.mutable_graphs()) give_attributes(graph, function, call);
      if (attribute.ref_attr_name().empty()) {
        kept.Add(std::move(attribute));
      } else if (const AttributeProto* value = given(attribute.ref_attr_name(), function, call)) {
        AttributeProto& own = *kept.Add();
        own = *value;
        own.set_name(attribute.name());
      }
    }
    node.mutable_attribute()->Swap(&kept);
  }

  static void give_attributes(GraphProto& graph, const FunctionProto& function, const NodeProto& call) {
    for (NodeProto& node : *graph.mutable_node()) give_attributes(node, function, call);
  }

  // A function may use another version of the operators than the file does.
  void set_opset(NodeProto& node, const FunctionProto& function) const {
    for (const OperatorSetIdProto& set : function.opset_import()) {
      const bool same = set.domain() == node.domain() || (is_own(set.domain()) && is_own(node.domain()));
      if (same && set.version() != file_.opset(node.domain())) node.set_own_opset(set.version());
    }
    for (AttributeProto& attribute : *node.mutable_attribute()) {
      if (!attribute.has_g()) continue;
      for (NodeProto& inner : *attribute.mutable_g()->mutable_node()) set_opset(inner, function);
    }
  }

  const File& file_;
  std::map<Key, const FunctionProto*> functions_;
  std::set<const FunctionProto*> open_;
  std::size_t count_ = 0, calls_ = 0;
};

}  // namespace

void inline_functions(const File& file, ModelProto& model) {
  if (model.functions().empty()) return;
  Inliner(file, model).expand(*model.mutable_graph()->mutable_node());
  model.clear_functions();
}

}  // namespace headroom::onnx
