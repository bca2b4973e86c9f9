// Two ways to look at a graph: one line per node, and a picture for Graphviz.
#include <fmt/format.h>

#include "graph/graph.h"

namespace headroom {
namespace {

std::string describe(const Graph& graph, ValueId id) {
  const Value& v = graph.value(id);
  return fmt::format("%{} {}:{}", id, v.type.shape.str(), name_of(v.type.dtype));
}

// Layers have the user's names, which may contain characters that DOT strings may not.
std::string escaped(std::string_view name) {
  std::string text;
  for (char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text;
}

const char* color_of(Phase phase) {
  switch (phase) {
    case Phase::forward:
      return "#dbe9f6";
    case Phase::backward:
      return "#fde3cf";
    case Phase::update:
      return "#e2f0d9";
  }
  return "white";
}

}  // namespace

std::string Graph::text() const {
  std::string text;
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value& v = values_[i];
    if (v.producer == kNone && v.role != Role::activation && v.role != Role::gradient)
      text +=
          fmt::format("{:<10} {} '{}'\n", name_of(v.role), describe(*this, static_cast<ValueId>(i)), v.name);
  }
  for (const Node& n : nodes_) {
    std::vector<std::string> out, in;
    for (ValueId id : n.outputs) out.push_back(describe(*this, id));
    for (ValueId id : n.inputs) in.push_back(fmt::format("%{}", id));
    text += fmt::format("{:<10} {} = {}({}){}{}  @{}\n", name_of(n.phase), fmt::join(out, ", "), n.op,
                        fmt::join(in, ", "), n.attrs.empty() ? "" : " ", n.attrs.str(), n.layer);
  }
  return text;
}

std::string Graph::dot() const {
  std::string text =
      "digraph headroom {\n  rankdir=TB;\n  node [shape=box, style=filled, fontname=\"sans-serif\"];\n";
  for (std::size_t i = 0; i < values_.size(); ++i) {
    const Value& v = values_[i];
    if (v.producer == kNone && v.role != Role::activation && v.role != Role::gradient)
      text += fmt::format("  v{} [label=\"{}\\n{}\", shape=ellipse, fillcolor=white];\n", i, escaped(v.name),
                          v.type.shape.str());
  }
  for (std::size_t n = 0; n < nodes_.size(); ++n) {
    text += fmt::format("  n{} [label=\"{}\\n{}\", fillcolor=\"{}\"];\n", n, escaped(nodes_[n].layer),
                        nodes_[n].op, color_of(nodes_[n].phase));
    for (ValueId in : nodes_[n].inputs) {
      const NodeId from = value(in).producer;
      const std::string source = from == kNone ? fmt::format("v{}", in) : fmt::format("n{}", from);
      text += fmt::format("  {} -> n{} [label=\"{}\"];\n", source, n, value(in).type.shape.str());
    }
  }
  return text + "}\n";
}

}  // namespace headroom
