// The end of a program: the loss, the number of correct answers, and the report of the ranks.
#include "train/loss.h"

#include "base/text.h"
#include "ops/tally/tally.h"
#include "passes/passes.h"

namespace headroom {
namespace {

ValueId add_to_loss(Program& p, std::string_view op, std::vector<ValueId> inputs, Attrs attrs = {}) {
  return p.graph.add_node(op, std::move(inputs), std::move(attrs), kLossLayer).at(0);
}

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
  if (const Value& in = p.graph.value(p.images); !is_float(in.type.dtype) && !reads_tokens(net))
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
  if (in != out) target = add_to_loss(p, "reshape", {target}, {{"shape", out.vector()}});
  p.loss = add_to_loss(p, "squared_error", {p.logits, target}, attrs);
}

// Plans of one engine share constants by name, and a part of a batch has another share than the whole.
ValueId times(Program& p, ValueId value, const std::string& name, double factor) {
  const ValueId constant = p.graph.add_value({.name = name,
                                              .type = {{1}, p.graph.value(value).type.dtype},
                                              .role = Role::constant,
                                              .producer = kNone,
                                              .init = {Initializer::Kind::constant, factor},
                                              .layer = {}});
  return add_to_loss(p, "mul", {value, constant});
}

// The mean of all elements, times this factor and the share of the rows that are here.
ValueId mean_times(Program& p, ValueId value, const std::string& name, double factor,
                   std::int64_t rows_everywhere) {
  const Shape shape = p.graph.value(value).type.shape;
  std::vector<std::int64_t> axes;
  for (int i = 0; i < shape.rank(); ++i) axes.push_back(i);
  const ValueId mean = add_to_loss(p, "reduce_mean", {value}, {{"axes", axes}});
  const ValueId one = add_to_loss(p, "reshape", {mean}, {{"shape", std::vector<std::int64_t>{1}}});
  if (rows_everywhere == 0 && factor == 1) return one;
  const double share = rows_everywhere > 0 ? double(shape[0]) / double(rows_everywhere) : 1;
  return times(p, one, fmt::format("{}_{}_of_{}", name, shape[0], rows_everywhere), factor * share);
}

// (1 - e) times the cross entropy with the label, plus e times its mean over all classes as the label.
void smooth_labels(Program& p, double e, std::int64_t rows_everywhere) {
  const ValueId logs = add_to_loss(p, "log_softmax", {p.logits});
  const ValueId even = mean_times(p, logs, "loss.even_share", -e, rows_everywhere);
  p.loss = add_to_loss(p, "add", {times(p, p.loss, "loss.label_share", 1 - e), even});
}

// Rows of numbers that the data gives, one for each number of the output.
ValueId add_targets(Program& p) {
  const TensorType out = p.graph.value(p.logits).type;
  const std::int64_t rows = out.shape[0], each = out.shape.numel() / rows;
  if (out.shape.rank() != 2)
    p.logits = add_to_loss(p, "reshape", {p.logits}, {{"shape", std::vector<std::int64_t>{rows, each}}});
  p.labels_each = each;
  p.labels = p.graph.add_value({.name = "targets",
                                .type = {{rows, each}, DType::f32},
                                .role = Role::input,
                                .producer = kNone,
                                .init = {},
                                .layer = {}});
  if (out.dtype == DType::f32) return p.labels;
  return add_to_loss(p, "cast", {p.labels}, {{"to", std::string(name_of(out.dtype))}});
}

// The mean over all labels of softplus(x) - x t: the cross entropy of sigmoid(x) with t, for any x.
void add_multi_label(Program& p, std::int64_t rows_everywhere) {
  const ValueId targets = add_targets(p);
  const ValueId both = add_to_loss(p, "mul", {p.logits, targets});
  const ValueId each = add_to_loss(p, "sub", {add_to_loss(p, "softplus", {p.logits}), both});
  p.loss = mean_times(p, each, "loss.share", 1, rows_everywhere);
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
  if (net.loss == kMultiLabel) return add_multi_label(p, global_batch);
  if (net.loss == kRegression) {
    const ValueId targets = add_targets(p);
    p.loss = add_to_loss(p, "squared_error", {p.logits, targets}, attrs);
    return;
  }
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
    const ValueId wanted = add_to_loss(
        p, "one_hot", {p.labels}, {{"classes", type.shape[1]}, {"dtype", std::string(name_of(type.dtype))}});
    p.loss = add_to_loss(p, "squared_error", {p.logits, wanted}, attrs);
  } else if (net.loss == kCrossEntropy) {
    p.loss = add_to_loss(p, "cross_entropy", {p.logits, p.labels}, attrs);
  } else {
    const std::vector<std::string> losses = {kCrossEntropy, kSquaredError, kReconstruction, kRegression,
                                             kMultiLabel};
    reject(nearest(net.loss, losses), "network '{}': unknown loss '{}'", net.name, net.loss);
  }
  if (label_smoothing > 0)
    smooth_labels(p, label_smoothing, global_batch > 0 ? global_batch * p.labels_each : 0);
  p.correct = add_to_loss(p, "count_correct", {p.logits, p.labels});
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
