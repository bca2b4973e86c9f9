// Tensor cores read the channels of a pixel side by side, so libraries convolve NHWC without transposing
// first. A trunk of convolutions and the nodes between them is laid out as a whole: each border costs a pass
// over the tensor.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "ops/conv2d/conv2d.h"
#include "passes/passes.h"
#include "passes/rewrite.h"

namespace headroom {
namespace {

// Convolutions with fewer input or output channels leave much of a tensor core's tile empty in either layout.
constexpr std::int64_t kWide = 32;
// Min share of a trunk's products in wide convolutions, and min number of products: below that, kernel
// launches take most of the time.
constexpr double kWideShare = 0.5, kLeastFlop = 1e9;

bool is_image(const TensorType& type) { return type.shape.rank() == 4 && is_float(type.dtype); }

bool is_convolution(const Node& node) {
  return node.op == "conv2d" || node.op == "conv2d_grad_input" || node.op == "conv2d_grad_weight";
}

Problem in_nhwc(Problem p) {
  for (auto* list : {&p.inputs, &p.outputs})
    for (TensorType& type : *list)
      if (is_image(type)) type.layout = Layout::nhwc;
  return p;
}

class LayingOut {
 public:
  LayingOut(Graph& graph, const Target& target, bool always)
      : graph_(graph), target_(target), trunk_(graph.nodes().size()) {
    std::iota(trunk_.begin(), trunk_.end(), std::size_t{0});
    choose(always);
  }

  void run() {
    if (chosen_.empty()) return;
    find_readers();
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) rewrite(graph_.nodes()[n], chosen_.count(n) > 0);
    graph_.replace_nodes(std::move(nodes_));
  }

 private:
  // A copy of a stored value is transposed together with it: see join_casts.
  bool copies_stored(const Node& node) const {
    return node.op == "cast" && graph_.value(node.inputs[0]).producer == kNone;
  }

  bool can_run(std::size_t n) const {
    const Node& node = graph_.nodes()[n];
    const auto image = [&](ValueId id) { return is_image(graph_.value(id).type); };
    if (copies_stored(node) || schema_of(node.op).is_view ||
        !std::any_of(node.inputs.begin(), node.inputs.end(), image))
      return false;
    return runs_on(in_nhwc(graph_.problem(static_cast<NodeId>(n))), target_);
  }

  std::size_t trunk_of(std::size_t n) {
    while (trunk_[n] != n) n = trunk_[n] = trunk_[trunk_[n]];
    return n;
  }

  // Nodes that share a tensor of rank 4 and can all run in NHWC form one trunk.
  void choose(bool always) {
    std::map<ValueId, std::size_t> seen;
    std::set<std::size_t> able;
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n) {
      if (!can_run(n)) continue;
      able.insert(n);
      for (const auto* list : {&graph_.nodes()[n].inputs, &graph_.nodes()[n].outputs})
        for (ValueId id : *list) {
          if (!is_image(graph_.value(id).type)) continue;
          const auto [it, fresh] = seen.try_emplace(id, n);
          if (!fresh) trunk_[trunk_of(n)] = trunk_of(it->second);
        }
    }
    struct Flop {
      double all = 0, wide = 0;
    };
    std::map<std::size_t, Flop> flop;
    for (std::size_t n : able) {
      if (!is_convolution(graph_.nodes()[n])) continue;
      const Problem p = graph_.problem(static_cast<NodeId>(n));
      const Conv2d c = parse_conv2d(p);
      const double products = schema_of(p.op).cost(p).multiply_add;
      Flop& sum = flop[trunk_of(n)];
      sum.all += products;
      if (std::min(c.group_channels(), c.group_maps()) >= kWide) sum.wide += products;
    }
    for (std::size_t n : able) {
      const auto it = flop.find(trunk_of(n));
      if (it == flop.end()) continue;
      const Flop& sum = it->second;
      if (always || (sum.all >= kLeastFlop && sum.wide >= kWideShare * sum.all)) chosen_.insert(n);
    }
  }

  // Finds values that some reader needs as NCHW.
  void find_readers() {
    plain_.insert(graph_.outputs.begin(), graph_.outputs.end());
    for (std::size_t n = 0; n < graph_.nodes().size(); ++n)
      if (!chosen_.count(n)) plain_.insert(graph_.nodes()[n].inputs.begin(), graph_.nodes()[n].inputs.end());
  }

  // True if the two layouts differ in memory.
  bool differs(ValueId id) const {
    const TensorType& type = graph_.value(id).type;
    return is_image(type) && !TensorType{type.shape, type.dtype, Layout::nchw}.lies_as(Layout::nhwc);
  }

  ValueId copy_of(ValueId id) {
    Value copy = graph_.value(id);
    copy.name += ".nhwc";
    copy.type.layout = Layout::nhwc;
    if (copy.role != Role::gradient) copy.role = Role::activation;
    copy.producer = kNone;
    copy.penalized = false;
    return graph_.add_value(std::move(copy));
  }

  void add_relayout(ValueId from, ValueId to, const Node& beside) {
    nodes_.push_back({.op = "relayout",
                      .attrs = {{"layout", std::string(name_of(graph_.value(to).type.layout))}},
                      .inputs = {from},
                      .outputs = {to},
                      .layer = beside.layer,
                      .phase = beside.phase,
                      .charges = {}});
  }

  void rewrite(Node node, bool nhwc) {
    if (!nhwc) {
      nodes_.push_back(std::move(node));
      return;
    }
    for (ValueId& in : node.inputs) {
      if (!differs(in) || graph_.value(in).type.layout == Layout::nhwc) continue;
      const auto [it, fresh] = nhwc_.try_emplace(in, kNone);
      if (fresh) {
        it->second = copy_of(in);
        add_relayout(in, it->second, node);
      }
      in = it->second;
    }
    std::vector<std::pair<ValueId, ValueId>> borders;
    for (ValueId& out : node.outputs) {
      if (!differs(out)) continue;
      if (!plain_.count(out)) {
        graph_.value(out).type.layout = Layout::nhwc;
        continue;
      }
      const ValueId copy = nhwc_[out] = copy_of(out);
      borders.emplace_back(copy, out);
      out = copy;
    }
    const Node beside{.op = {},
                      .attrs = {},
                      .inputs = {},
                      .outputs = {},
                      .layer = node.layer,
                      .phase = node.phase,
                      .charges = {}};
    nodes_.push_back(std::move(node));
    for (const auto& [from, to] : borders) add_relayout(from, to, beside);
  }

  Graph& graph_;
  const Target& target_;
  std::vector<std::size_t> trunk_;  // by node: another node of the same trunk
  std::set<std::size_t> chosen_;
  std::set<ValueId> plain_;
  std::map<ValueId, ValueId> nhwc_;  // the copy of a value that stays NCHW
  std::vector<Node> nodes_;
};

// Joins a cast into the relayout that is its only reader.
void join_casts(Graph& graph, const Target& target) {
  if (std::ranges::none_of(graph.nodes(), [](const Node& node) { return node.op == "cast"; })) return;
  const auto readers = count_readers(graph);
  std::vector<Node> nodes = graph.nodes();
  std::set<std::size_t> gone;
  for (Node& node : nodes) {
    if (node.op != "relayout" || readers.at(node.inputs[0]) != 1) continue;
    const NodeId from = graph.value(node.inputs[0]).producer;
    if (from == kNone || nodes[static_cast<std::size_t>(from)].op != "cast") continue;
    const Node& cast = nodes[static_cast<std::size_t>(from)];
    if (cast.attrs.has("through")) continue;
    Node joined = node;
    joined.inputs = cast.inputs;
    joined.attrs.set("to", cast.attrs.text("to"));
    if (cast.attrs.has("scale")) joined.attrs.set("scale", cast.attrs.real("scale"));
    Problem p{
        "relayout", {graph.value(cast.inputs[0]).type}, {graph.value(node.outputs[0]).type}, joined.attrs};
    // If the cast's input is the same in both layouts, nothing is transposed and the cast is enough.
    if (p.inputs[0].layout == p.outputs[0].layout || !runs_on(p, target)) continue;
    if (const auto charges = charges_of(graph, {cast, node}); charges.size() > 1) joined.charges = charges;
    node = std::move(joined);
    gone.insert(static_cast<std::size_t>(from));
  }
  drop_nodes(graph, std::move(nodes), gone);
}

}  // namespace

std::optional<LayoutWish> parse_layout_wish(std::string_view name) {
  if (name == "auto") return LayoutWish::automatic;
  if (name == "nchw") return LayoutWish::nchw;
  if (name == "nhwc") return LayoutWish::nhwc;
  return {};
}

void lay_out(Graph& graph, const Target& target, LayoutWish wish) {
  if (target.device.kind != DeviceKind::cuda || wish == LayoutWish::nchw) return;
  LayingOut(graph, target, wish == LayoutWish::nhwc).run();
  join_casts(graph, target);
  fuse_norms(graph, target);
}

}  // namespace headroom
