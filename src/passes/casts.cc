#include <algorithm>

#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

// Larger gradients are cast where they are made, so that their 16-bit form need not live until the update.
constexpr std::int64_t kSmall = 1 << 18;

class CastGathering {
 public:
  explicit CastGathering(Graph& graph) : graph_(graph), nodes_(graph.nodes()) {}

  void run() {
    find_readers();
    gather([&](const Node& n) { return is_copy_of_parameter(n); }, false);
    gather([&](const Node& n) { return is_small_gradient(n); }, true);
    drop_nodes(graph_, std::move(nodes_), gone_);
  }

 private:
  void find_readers() {
    for (const Node& node : nodes_)
      for (ValueId in : node.inputs) {
        const auto [it, fresh] = first_reader_.try_emplace(in, node.phase);
        if (!fresh) it->second = std::min(it->second, node.phase);
      }
    for (ValueId out : graph_.outputs) first_reader_[out] = Phase::forward;  // stays where it is made
  }

  bool is_narrowing(const Node& n, bool to_narrow) const {
    if (n.op != "cast" || n.attrs.has("through")) return false;
    const DType from = graph_.value(n.inputs[0]).type.dtype, to = graph_.value(n.outputs[0]).type.dtype;
    return to_narrow ? from == DType::f32 && is_16bit(to) : is_16bit(from) && to == DType::f32;
  }

  bool is_copy_of_parameter(const Node& n) const {
    return is_narrowing(n, true) && graph_.value(n.inputs[0]).role == Role::parameter &&
           graph_.value(n.inputs[0]).producer == kNone;
  }

  bool is_small_gradient(const Node& n) const {
    if (!is_narrowing(n, false) || n.phase != Phase::backward) return false;
    const auto reader = first_reader_.find(n.outputs[0]);
    return reader != first_reader_.end() && reader->second == Phase::update &&
           graph_.value(n.outputs[0]).type.shape.numel() <= kSmall;
  }

  // Merges all wanted nodes that are like the first into one, at the position of the first or the last.
  template <class Wanted>
  void gather(Wanted&& wanted, bool at_the_last) {
    std::vector<std::size_t> places;
    for (std::size_t n = 0; n < nodes_.size(); ++n)
      if (!gone_.count(n) && wanted(nodes_[n]) && (places.empty() || is_like(nodes_[places[0]], nodes_[n])))
        places.push_back(n);
    if (places.size() < 2) return;
    Node all = nodes_[places[0]];
    std::vector<Node> parts;
    for (std::size_t n : places) {
      parts.push_back(nodes_[n]);
      if (n == places[0]) continue;
      all.inputs.push_back(nodes_[n].inputs[0]);
      all.outputs.push_back(nodes_[n].outputs[0]);
    }
    all.op = "cast_all";
    all.charges = charges_of(graph_, parts);
    gone_.insert(places.begin(), places.end());
    const std::size_t at = at_the_last ? places.back() : places.front();
    gone_.erase(at);
    nodes_[at] = std::move(all);
  }

  bool is_like(const Node& a, const Node& b) const {
    const auto type = [&](ValueId id) { return graph_.value(id).type.dtype; };
    return type(a.inputs[0]) == type(b.inputs[0]) && type(a.outputs[0]) == type(b.outputs[0]) &&
           a.attrs.real("scale", 1) == b.attrs.real("scale", 1) && a.phase == b.phase;
  }

  Graph& graph_;
  std::vector<Node> nodes_;
  std::map<ValueId, Phase> first_reader_;
  std::set<std::size_t> gone_;
};

}  // namespace

void gather_casts(Graph& graph) { CastGathering(graph).run(); }

}  // namespace headroom
