#include "passes/rewrite.h"

#include <algorithm>
#include <numeric>

#include "ops/operator.h"

namespace headroom {
namespace {

double bytes_of(const Graph& graph, ValueId id) { return static_cast<double>(graph.value(id).type.bytes()); }

double flops_of(const Graph& graph, const Node& node) {
  return schema_of(node.op).cost(problem_of(graph, node)).flops();
}

// What each part adds to the work of the fused step, in bytes. A value that one part hands to another is not
// moved, a result of the same size takes the place of one that would have been written anyway, and what
// several parts read is read once. Machines do some ten operations in the time of a byte.
std::vector<double> works_of(const Graph& graph, const std::vector<Node>& parts) {
  constexpr double kBytesPerFlop = 0.1;
  std::set<ValueId> made, read;
  for (const Node& part : parts) made.insert(part.outputs.begin(), part.outputs.end());
  std::vector<double> works;
  for (const Node& part : parts) {
    double bytes = 0;
    std::set<std::int64_t> replaced;  // sizes
    for (ValueId id : part.inputs) {
      if (made.contains(id))
        replaced.insert(graph.value(id).type.shape.numel());
      else if (read.insert(id).second)
        bytes += bytes_of(graph, id);
    }
    for (ValueId id : part.outputs)
      if (!replaced.contains(graph.value(id).type.shape.numel())) bytes += bytes_of(graph, id);
    works.push_back(bytes + kBytesPerFlop * flops_of(graph, part));
  }
  return works;
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

Problem problem_of(const Graph& graph, const Node& node) {
  Problem problem{.op = node.op, .inputs = {}, .outputs = {}, .attrs = node.attrs};
  for (ValueId id : node.inputs) problem.inputs.push_back(graph.value(id).type);
  for (ValueId id : node.outputs) problem.outputs.push_back(graph.value(id).type);
  return problem;
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
  const std::vector<double> works = works_of(graph, parts);
  const double total = std::accumulate(works.begin(), works.end(), 0.0);
  std::vector<Charge> charges;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const Node& part = parts[i];
    const double share = total > 0 ? works[i] / total : 1.0 / static_cast<double>(parts.size());
    if (part.charges.empty()) add(charges, {part.layer, part.phase, share});
    for (const Charge& own : part.charges) add(charges, {own.layer, own.phase, share * own.share});
  }
  return charges;
}

}  // namespace headroom
