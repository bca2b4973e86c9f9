#include "graph/graph.h"

#include <algorithm>

namespace headroom {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::input:
      return "input";
    case Role::parameter:
      return "parameter";
    case Role::constant:
      return "constant";
    case Role::activation:
      return "activation";
    case Role::gradient:
      return "gradient";
    case Role::state:
      return "state";
    case Role::scalar:
      return "scalar";
  }
  return "?";
}

std::string_view name_of(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "forward";
    case Phase::backward:
      return "backward";
    case Phase::update:
      return "update";
  }
  return "?";
}

ValueId Graph::add_value(Value value) {
  // Extents come from files and options; above this, sizes in bytes would overflow.
  constexpr double kMaxElements = double(std::int64_t{1} << 44);
  double elements = 1;
  for (std::int64_t extent : value.type.shape.dims()) elements *= double(extent);
  if (elements > kMaxElements)
    reject(Hint{"check the sizes of the layers and the batch"},
           "'{}' would be {}: {:.1e} numbers are more than any memory holds", value.name,
           value.type.shape.str(), elements);
  values_.push_back(std::move(value));
  return static_cast<ValueId>(values_.size()) - 1;
}

std::vector<ValueId> Graph::add_node(std::string_view op, std::vector<ValueId> inputs, Attrs attrs,
                                     std::string layer, Phase phase) {
  std::vector<TensorType> types;
  for (ValueId id : inputs) types.push_back(value(id).type);
  std::vector<TensorType> results;
  try {
    results = schema_of(op).infer(types, attrs);
  } catch (const Error& error) {
    throw Error(error.blame(), fmt::format("layer '{}': {}", layer, error.what()), Hint{error.hint()});
  }

  Node node{.op = std::string(op),
            .attrs = std::move(attrs),
            .inputs = std::move(inputs),
            .outputs = {},
            .layer = std::move(layer),
            .phase = phase,
            .charges = {}};
  const NodeId id = static_cast<NodeId>(nodes_.size());
  const Role role = phase == Phase::forward ? Role::activation : Role::gradient;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string name = fmt::format("{}.{}{}", node.layer, node.op, i == 0 ? "" : fmt::format(".{}", i));
    node.outputs.push_back(add_value(
        {.name = name, .type = results[i], .role = role, .producer = id, .init = {}, .layer = node.layer}));
  }
  nodes_.push_back(node);
  return node.outputs;
}

Problem Graph::problem(NodeId id) const {
  const Node& n = node(id);
  Problem problem{.op = n.op, .inputs = {}, .outputs = {}, .attrs = n.attrs};
  for (ValueId v : n.inputs) problem.inputs.push_back(value(v).type);
  for (ValueId v : n.outputs) problem.outputs.push_back(value(v).type);
  return problem;
}

ValueId Graph::find(std::string_view name) const {
  const auto it =
      std::find_if(values_.begin(), values_.end(), [&](const Value& v) { return v.name == name; });
  return it == values_.end() ? kNone : static_cast<ValueId>(it - values_.begin());
}

std::vector<ValueId> Graph::with_role(Role role) const {
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < values_.size(); ++i)
    if (values_[i].role == role) ids.push_back(static_cast<ValueId>(i));
  return ids;
}

void Graph::replace_nodes(std::vector<Node> nodes) {
  nodes_ = std::move(nodes);
  for (Value& value : values_) value.producer = kNone;
  for (std::size_t n = 0; n < nodes_.size(); ++n)
    for (ValueId out : nodes_[n].outputs) value(out).producer = static_cast<NodeId>(n);
}

}  // namespace headroom
