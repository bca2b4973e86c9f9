#include "passes/rewrite.h"

#include <algorithm>

#include "ops/operator.h"

namespace headroom {
namespace {

double bytes_of(const Graph& graph, const Node& node) {
  double bytes = 0;
  for (const auto* list : {&node.inputs, &node.outputs})
    for (ValueId id : *list) bytes += static_cast<double>(graph.value(id).type.bytes());
  return bytes;
}

void add(std::vector<Charge>& charges, const Charge& more) {
  const auto same = std::find_if(charges.begin(), charges.end(), [&](const Charge& c) {
    return c.layer == more.layer && c.phase == more.phase;
  });
  if (same != charges.end())
    same->share += more.share;
  else
    charges.push_back(more);
}

}  // namespace

Node* sole_producer(const Graph& graph, std::vector<Node>& nodes, const std::map<ValueId, int>& readers,
                    ValueId value) {
  const NodeId from = graph.value(value).producer;
  return from == kNone || readers.at(value) != 1 ? nullptr : &nodes[static_cast<std::size_t>(from)];
}

void drop_nodes(Graph& graph, std::vector<Node> nodes, const std::set<std::size_t>& gone) {
  std::vector<Node> kept;
  for (std::size_t n = 0; n < nodes.size(); ++n)
    if (!gone.count(n)) kept.push_back(std::move(nodes[n]));
  graph.replace_nodes(std::move(kept));
}

bool runs_on(const Problem& problem, const Target& target) {
  const auto& kernels = operator_of(problem.op).kernels;
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel& kernel) {
    return kernel.device == target.device.kind && accepts(kernel, problem, target).ok;
  });
}

std::map<ValueId, int> count_readers(const Graph& graph) {
  std::map<ValueId, int> readers;
  for (const Node& node : graph.nodes())
    for (ValueId in : node.inputs) ++readers[in];
  for (ValueId out : graph.outputs) ++readers[out];
  return readers;
}

std::vector<Charge> charges_of(const Graph& graph, const std::vector<Node>& parts) {
  double total = 0;
  for (const Node& part : parts) total += bytes_of(graph, part);
  std::vector<Charge> charges;
  for (const Node& part : parts) {
    const double share = total > 0 ? bytes_of(graph, part) / total : 1.0 / static_cast<double>(parts.size());
    if (part.charges.empty()) add(charges, {part.layer, part.phase, share});
    for (const Charge& own : part.charges) add(charges, {own.layer, own.phase, share * own.share});
  }
  return charges;
}

}  // namespace headroom
