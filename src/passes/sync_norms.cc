// Batch normalisation over ranks, built from operators that have gradients, and two sums over ranks.
#include "passes/passes.h"

namespace headroom {
namespace {

// Expands one normalisation; its nodes go to the end of the graph, where the caller takes them.
class Norm {
 public:
  Norm(Graph& graph, const Node& node, std::int64_t global_batch) : graph_(graph), node_(node) {
    const Shape& x = graph.value(node.inputs[0]).type.shape;
    channels_ = x[1];
    n_ = double(global_batch) * double(x.numel() / (x[0] * x[1]));
    for (int a = 0; a < x.rank(); ++a) {
      wide_.push_back(a == 1 ? x[1] : 1);
      if (a != 1) axes_.push_back(a);
    }
  }

  ValueId write() {
    const ValueId x = node_.inputs[0];
    const ValueId mean = mean_of(x);
    const ValueId centred = emit("sub", {x, mean});
    const ValueId variance = mean_of(emit("mul", {centred, centred}));
    const ValueId deviation =
        emit("sqrt", {emit("add", {variance, number("epsilon", node_.attrs.real("epsilon", 1e-5))})});
    const ValueId scaled = emit("mul", {emit("div", {centred, deviation}), as(wide_, node_.inputs[1])});
    remember(node_.inputs[3], as({channels_}, mean));
    const double unbiased = n_ > 1 ? n_ / (n_ - 1) : 1;
    remember(node_.inputs[4],
             as({channels_}, emit("mul", {variance, number(fmt::format("unbiased_{}", n_), unbiased)})));
    return emit("add", {scaled, as(wide_, node_.inputs[2])});
  }

 private:
  ValueId emit(std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {},
               Phase phase = Phase::forward) {
    return graph_.add_node(op, std::move(inputs), std::move(attrs), node_.layer, phase).at(0);
  }
  ValueId as(const std::vector<std::int64_t>& shape, ValueId value) {
    return emit("reshape", {value}, {{"shape", shape}});
  }
  // The names include the batch size, so that plans of other batches do not share these constants.
  ValueId number(const std::string& name, double value, std::optional<DType> dtype = {}) {
    const DType own = graph_.value(node_.inputs[1]).type.dtype;
    return graph_.add_value({.name = fmt::format("{}.{}", node_.layer, name),
                             .type = {{1}, dtype.value_or(own)},
                             .role = Role::constant,
                             .producer = kNone,
                             .init = {Initializer::Kind::constant, value},
                             .layer = node_.layer});
  }
  ValueId mean_of(ValueId x) {
    const ValueId sum = emit("reduce_sum", {x}, {{"axes", axes_}, {"keepdims", std::int64_t{1}}});
    const Attrs over = {{"group", std::string(kDataGroup)}, {"backward", std::string("sum")}};
    return emit("mul", {emit("all_reduce", {sum}, over), number(fmt::format("mean_{}", n_), 1 / n_)});
  }
  // running' = running - momentum (running - now), in place: a step of gradient descent.
  void remember(ValueId running, ValueId now) {
    const ValueId momentum = number("momentum", node_.attrs.real("momentum", 0.1), DType::f64);
    emit("sgd", {momentum, running, emit("sub", {running, now})}, {{"l2", 0.0}}, Phase::update);
  }

  Graph& graph_;
  const Node node_;
  std::int64_t channels_;
  double n_;
  std::vector<std::int64_t> wide_, axes_;
};

}  // namespace

void sync_norms(Graph& graph, std::int64_t global_batch) {
  const std::vector<Node> nodes = graph.nodes();
  std::vector<Node> list;
  for (const Node& node : nodes) {
    if (node.op != "batch_norm") {
      list.push_back(node);
      continue;
    }
    const std::size_t before = graph.nodes().size();
    Norm(graph, node, global_batch).write();
    for (std::size_t n = before; n < graph.nodes().size(); ++n) list.push_back(graph.nodes()[n]);
    list.back().outputs[0] = node.outputs[0];  // readers of the old node's result now read this one's
  }
  graph.replace_nodes(std::move(list));
}

}  // namespace headroom
