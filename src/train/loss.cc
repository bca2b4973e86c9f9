// The end of a program: the loss, the number of correct answers, and the report of the ranks.
#include "train/loss.h"

#include "base/text.h"
#include "ops/tally/tally.h"
#include "passes/passes.h"

namespace headroom {
namespace {

// Treats the scores of every token as a row with its own label.
void rows_of_tokens(Program& p, const Net& net) {
  const Shape out = p.graph.value(p.logits).type.shape;
  if (!reads_tokens(net) || out.rank() != 3) return;
  p.labels_each = out[1];
  const std::vector<std::int64_t> rows = {out[0] * out[1], out[2]};
  p.logits = p.graph.add_node("reshape", {p.logits}, {{"shape", rows}}, kLossLayer).at(0);
}

}  // namespace

void require_one_input(const Program& p, const Net& net) {
  if (!net.imported) return;
  if (p.inputs.size() != 1)
    reject(Hint{"headroom run takes several"}, "network '{}' has {} inputs; training and testing feed one",
           net.name, p.inputs.size());
  if (const Value& in = p.graph.value(p.images); !is_float(in.type.dtype))
    reject("network '{}' reads {}, not images", net.name, name_of(in.type.dtype));
  if (!is_float(p.graph.value(p.logits).type.dtype))
    reject("network '{}' gives {}, not a score for each class", net.name,
           name_of(p.graph.value(p.logits).type.dtype));
}

namespace {

void require_classes(const Program& p, const Net& net) {
  const Shape& out = p.graph.value(p.logits).type.shape;
  if (out.rank() != 2)
    reject(Hint{"end the network with a linear layer, one unit per class"},
           "network '{}' ends in {} per image, not in one number per class", net.name,
           out.without_first().str());
}

// Compares outputs with the network's own inputs; only the number of elements must agree.
void add_reconstruction(Program& p, const Net& net, const Attrs& attrs) {
  const Shape in = p.graph.value(p.images).type.shape, out = p.graph.value(p.logits).type.shape;
  if (in.numel() != out.numel())
    reject(Hint{"its last layer must give as many numbers as its input has"},
           "network '{}' gives {} for an input of {}, so it cannot reconstruct it", net.name,
           out.without_first().str(), in.without_first().str());
  ValueId target = p.images;
  if (in != out) target = p.graph.add_node("reshape", {target}, {{"shape", out.vector()}}, kLossLayer).at(0);
  p.loss = p.graph.add_node("squared_error", {p.logits, target}, attrs, kLossLayer).at(0);
}

// (1 - e) times the cross entropy with the label, plus e times its mean over all classes as the label.
void smooth_labels(Program& p, double e, std::int64_t rows_everywhere) {
  Graph& graph = p.graph;
  auto add = [&](std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) {
    return graph.add_node(op, std::move(inputs), std::move(attrs), kLossLayer).at(0);
  };
  // Plans of one engine share constants by name, and a part of a batch has another share than the whole.
  auto times = [&](ValueId value, const std::string& name, double factor) {
    const ValueId constant = graph.add_value({.name = name,
                                              .type = {{1}, graph.value(value).type.dtype},
                                              .role = Role::constant,
                                              .producer = kNone,
                                              .init = {Initializer::Kind::constant, factor},
                                              .layer = {}});
    return add("mul", {value, constant});
  };
  const std::int64_t rows = graph.value(p.logits).type.shape[0];
  const double share = rows_everywhere > 0 ? double(rows) / double(rows_everywhere) : 1;
  const ValueId logs = add("log_softmax", {p.logits});
  const ValueId mean = add("reduce_mean", {logs}, {{"axes", std::vector<std::int64_t>{0, 1}}});
  const ValueId even = add("reshape", {mean}, {{"shape", std::vector<std::int64_t>{1}}});
  const std::string part = fmt::format("loss.even_share_{}_of_{}", rows, rows_everywhere);
  p.loss = add("add", {times(p.loss, "loss.label_share", 1 - e), times(even, part, -e * share)});
}

}  // namespace

void add_loss(Program& p, const Net& net, std::int64_t batch, std::int64_t global_batch,
              double label_smoothing) {
  if (label_smoothing > 0 && net.loss != kCrossEntropy)
    reject(Hint{"leave `label-smoothing` out, or take `loss` cross_entropy"},
           "`label-smoothing` is for the loss cross_entropy, and network '{}' has {}", net.name, net.loss);
  Attrs attrs;
  if (global_batch > 0) attrs.set("global_batch", global_batch);
  if (net.loss == kReconstruction) return add_reconstruction(p, net, attrs);
  rows_of_tokens(p, net);
  if (global_batch > 0) attrs.set("global_batch", global_batch * p.labels_each);
  require_classes(p, net);
  p.labels = p.graph.add_value({.name = "labels",
                                .type = {{batch * p.labels_each}, DType::i32},
                                .role = Role::input,
                                .producer = kNone,
                                .init = {},
                                .layer = {}});
  if (net.loss == kSquaredError) {
    const TensorType type = p.graph.value(p.logits).type;
    const ValueId wanted =
        p.graph
            .add_node("one_hot", {p.labels},
                      {{"classes", type.shape[1]}, {"dtype", std::string(name_of(type.dtype))}}, kLossLayer)
            .at(0);
    p.loss = p.graph.add_node("squared_error", {p.logits, wanted}, attrs, kLossLayer).at(0);
  } else if (net.loss == kCrossEntropy) {
    p.loss = p.graph.add_node("cross_entropy", {p.logits, p.labels}, attrs, kLossLayer).at(0);
  } else {
    const std::vector<std::string> losses = {kCrossEntropy, kSquaredError, kReconstruction};
    reject(nearest(net.loss, losses), "network '{}': unknown loss '{}'", net.name, net.loss);
  }
  if (label_smoothing > 0)
    smooth_labels(p, label_smoothing, global_batch > 0 ? global_batch * p.labels_each : 0);
  p.correct = p.graph.add_node("count_correct", {p.logits, p.labels}, {}, kLossLayer).at(0);
}

void add_penalty(Program& p, double l2) {
  std::vector<ValueId> weights;
  for (ValueId id : p.graph.with_role(Role::parameter))
    if (p.graph.value(id).penalized) weights.push_back(id);
  if (l2 <= 0 || weights.empty()) return;
  weights.insert(weights.begin(), p.loss);
  p.loss =
      p.graph.add_node("l2_penalty", weights, {{"lambda", l2}, {"has_base", std::int64_t{1}}}, kLossLayer)
          .at(0);
}

void add_ranks_report(Program& p, double l2, const Distribution& ranks) {
  Graph& graph = p.graph;
  std::vector<ValueId> weights;
  for (ValueId id : graph.with_role(Role::parameter))
    if (graph.value(id).penalized && (graph.value(id).part || ranks.model_index == 0)) weights.push_back(id);
  ValueId penalty = kNone;
  if (l2 > 0 && !weights.empty())
    penalty = graph.add_node("l2_penalty", weights, {{"lambda", l2}}, kLossLayer).at(0);
  p.own_loss = p.loss;
  p.stop = graph.add_value({.name = kStop,
                            .type = {{1}, DType::f64},
                            .role = Role::scalar,
                            .producer = kNone,
                            .init = {},
                            .layer = {}});
  const DType dtype = graph.value(p.loss).type.dtype;
  if (dtype != DType::f64)
    p.stop = graph.add_node("cast", {p.stop}, {{"to", std::string(name_of(dtype))}}, kLossLayer).at(0);
  std::vector<ValueId> scalars = {p.loss, p.stop};
  if (p.correct != kNone) scalars.push_back(p.correct);
  if (ranks.data_parts > 1) {
    const auto sums = reduce_report(graph, scalars, kDataGroup);
    p.loss = sums[0], p.stop = sums[1];
    if (p.correct != kNone) p.correct = sums[2];
  }
  if (ranks.model_parts > 1) {
    scalars = {p.stop};
    if (penalty != kNone) scalars.push_back(penalty);
    const auto sums = reduce_report(graph, scalars, kModelGroup);
    p.stop = sums[0];
    if (penalty != kNone) penalty = sums[1];
  }
  if (penalty != kNone)
    p.loss = graph.add_node("add", {p.loss, penalty}, {}, kLossLayer, Phase::update).at(0);
}

void add_tally(Program& p, std::int64_t batch) {
  const ValueId sums = p.graph.add_value({.name = kTally,
                                          .type = {{std::int64_t{kTallyFields}}, DType::f64},
                                          .role = Role::scalar,
                                          .producer = kNone,
                                          .init = {},
                                          .layer = {}});
  std::vector<ValueId> inputs = {p.loss};
  if (p.correct != kNone) inputs.push_back(p.correct);
  inputs.push_back(sums);
  p.graph.add_node("tally", inputs, {{"count", batch}}, kLossLayer, Phase::update);
}

}  // namespace headroom
