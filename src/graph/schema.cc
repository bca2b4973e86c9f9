#include "graph/schema.h"

#include "graph/graph.h"

namespace headroom {

std::string Problem::str() const {
  std::string text = op;
  for (std::size_t i = 0; i < inputs.size(); ++i) text += (i == 0 ? " " : ",") + inputs[i].str();
  if (!inputs.empty()) text += fmt::format(" {}", name_of(inputs[0].dtype));
  if (!attrs.empty()) text += " " + attrs.str();
  return text;
}

Cost& Cost::operator+=(const Cost& more) {
  multiply_add += more.multiply_add;
  other += more.other;
  special += more.special;
  bytes_read += more.bytes_read;
  bytes_written += more.bytes_written;
  return *this;
}

ValueId GradientContext::input(std::size_t i) const { return graph.node(node).inputs.at(i); }
ValueId GradientContext::output(std::size_t i) const { return graph.node(node).outputs.at(i); }
const Attrs& GradientContext::attrs() const { return graph.node(node).attrs; }

ValueId GradientContext::emit(std::string_view op, std::vector<ValueId> inputs, Attrs attrs) const {
  return emit_all(op, std::move(inputs), std::move(attrs)).at(0);
}

std::vector<ValueId> GradientContext::emit_all(std::string_view op, std::vector<ValueId> inputs,
                                               Attrs attrs) const {
  const std::string layer = graph.node(node).layer;
  return graph.add_node(op, std::move(inputs), std::move(attrs), layer, Phase::backward);
}

Cost traffic(const Problem& problem) {
  Cost cost;
  for (const TensorType& type : problem.inputs) cost.bytes_read += static_cast<double>(type.bytes());
  for (const TensorType& type : problem.outputs) cost.bytes_written += static_cast<double>(type.bytes());
  return cost;
}

}  // namespace headroom
