// Data parallel: sums gradients over ranks while the backward pass continues.
#include <algorithm>
#include <set>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

constexpr const char* kLayer = "communication";
constexpr std::int64_t kLarge = 1 << 20;  // bytes: from this size on a tensor is exchanged alone
constexpr std::int64_t kBand = 1 << 20;   // min bytes of a band
constexpr std::int64_t kMaxBands = 8;

Attrs of_data() { return {{"group", std::string(kDataGroup)}}; }

struct Item {
  ValueId gradient;
  std::size_t at;  // the node that makes it
};

// Each gradient once, in the order in which they become final.
std::vector<Item> in_order(const Graph& graph, const std::map<ValueId, ValueId>& gradients) {
  std::set<ValueId> seen;
  std::vector<Item> items;
  for (const auto& [parameter, gradient] : gradients)
    if (seen.insert(gradient).second) items.push_back({gradient, 0});
  for (std::size_t n = 0; n < graph.nodes().size(); ++n)
    for (ValueId out : graph.nodes()[n].outputs)
      for (Item& item : items)
        if (item.gradient == out) item.at = n;
  std::ranges::stable_sort(items, {}, &Item::at);
  return items;
}

// One exchange in flight: its start, its gradients, and whether they are copied together or in place.
struct Exchanged {
  ValueId started;
  std::vector<ValueId> members;
  bool packed;
};

// Takes the last added node, to insert it after the node at `at`.
class Inserter {
 public:
  explicit Inserter(Graph& graph) : graph_(graph), before_(graph.nodes().size()) {}
  ValueId add(std::string_view op, std::vector<ValueId> inputs, Attrs attrs, std::size_t at,
              const std::string& layer = kLayer) {
    places_.push_back(at);
    return graph_.add_node(op, std::move(inputs), std::move(attrs), layer, Phase::backward).at(0);
  }
  void apply(const std::set<std::size_t>& gone) {
    const std::vector<Node> all = graph_.nodes();
    std::vector<Node> nodes;
    for (std::size_t n = 0; n < before_; ++n) {
      if (!gone.contains(n)) nodes.push_back(all[n]);
      for (std::size_t i = 0; i < places_.size(); ++i)
        if (places_[i] == n) nodes.push_back(all[before_ + i]);
    }
    graph_.replace_nodes(std::move(nodes));
  }

 private:
  Graph& graph_;
  std::size_t before_;
  std::vector<std::size_t> places_;
};

// A plain a^T b of two matrices: the gradient of a linear layer's weights.
bool is_plain_product(const Graph& graph, const Node& node) {
  return node.op == "matmul" && node.inputs.size() == 2 && node.attrs.integer("trans_a") != 0 &&
         node.attrs.integer("trans_b") == 0 && graph.value(node.inputs[0]).type.shape.rank() == 2 &&
         graph.value(node.inputs[1]).type.shape.rank() == 2;
}

std::int64_t bands_of(const TensorType& type) {
  return std::clamp<std::int64_t>(type.bytes() / kBand, 1, std::min(kMaxBands, type.shape[0]));
}

}  // namespace

bool is_sharded(const Value& parameter, const Distribution& how) {
  constexpr std::int64_t kLeast = 4096;  // elements
  return how.shard_optimizer && !parameter.part && parameter.type.shape.numel() >= kLeast;
}

std::map<ValueId, ValueId> reduce_gradients(Graph& graph, const std::map<ValueId, ValueId>& gradients,
                                            const Distribution& how, bool in_bands) {
  const auto readers = count_readers(graph);
  const std::vector<Node> nodes = graph.nodes();
  std::map<ValueId, ValueId> sums;  // by gradient
  std::set<ValueId> scattered;
  for (const auto& [parameter, gradient] : gradients)
    if (is_sharded(graph.value(parameter), how)) scattered.insert(gradient);
  std::vector<Exchanged> exchanges;
  Inserter inserter(graph);
  std::set<std::size_t> gone;
  std::vector<ValueId> small;
  std::int64_t small_bytes = 0;
  auto flush = [&](std::size_t at) {
    if (small.empty()) return;
    Attrs attrs = of_data();
    attrs.set("packed", std::int64_t{1});
    exchanges.push_back({inserter.add("all_reduce_start", small, attrs, at), small, true});
    small.clear(), small_bytes = 0;
  };
  std::size_t last = 0;
  for (const auto& [gradient, at] : in_order(graph, gradients)) {
    const TensorType type = graph.value(gradient).type;
    const bool shared = readers.contains(gradient) && readers.at(gradient) > 0;
    last = at;
    if (type.bytes() < kLarge || shared) {
      small.push_back(gradient);
      if ((small_bytes += type.bytes()) >= kLarge) flush(at);
    } else if (scattered.contains(gradient)) {
      Attrs attrs = of_data();
      attrs.set("scatter", std::int64_t{1});
      exchanges.push_back({inserter.add("all_reduce_start", {gradient}, attrs, at), {gradient}, false});
    } else if (in_bands && is_plain_product(graph, nodes[at])) {
      Attrs attrs = of_data();
      attrs.set("pieces", bands_of(type));
      const ValueId started = inserter.add("matmul_reduce", nodes[at].inputs, attrs, at, nodes[at].layer);
      graph.value(started).name = graph.value(gradient).name + ".bands";
      exchanges.push_back({started, {gradient}, false});
      gone.insert(at);
    } else {
      exchanges.push_back({inserter.add("all_reduce_start", {gradient}, of_data(), at), {gradient}, false});
    }
  }
  flush(last);
  inserter.apply(gone);
  for (const auto& [started, members, packed] : exchanges) {
    std::vector<ValueId> inputs = {started};
    if (packed) inputs.insert(inputs.end(), members.begin(), members.end());
    const auto done = graph.add_node("all_reduce_finish", inputs, of_data(), kLayer, Phase::update);
    for (std::size_t i = 0; i < members.size(); ++i) sums[members[i]] = done[i];
  }
  std::map<ValueId, ValueId> result;
  for (const auto& [parameter, gradient] : gradients) result[parameter] = sums.at(gradient);
  return result;
}

std::vector<ValueId> reduce_report(Graph& graph, const std::vector<ValueId>& scalars,
                                   std::string_view group) {
  Attrs attrs = {{"group", std::string(group)}, {"packed", std::int64_t{1}}};
  Phase phase = Phase::backward;  // as soon as the summands are there; they may be sums over another group
  for (ValueId id : scalars)
    if (const NodeId made = graph.value(id).producer; made != kNone)
      phase = std::max(phase, graph.nodes()[static_cast<std::size_t>(made)].phase);
  std::vector<ValueId> inputs = {graph.add_node("all_reduce_start", scalars, attrs, kLayer, phase).at(0)};
  inputs.insert(inputs.end(), scalars.begin(), scalars.end());
  return graph.add_node("all_reduce_finish", inputs, attrs, kLayer, Phase::update);
}

}  // namespace headroom
