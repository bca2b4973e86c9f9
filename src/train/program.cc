#include "train/program.h"

#include <algorithm>

#include "base/text.h"
#include "graph/autodiff.h"
#include "models/layers.h"
#include "ops/tally/tally.h"
#include "passes/passes.h"

namespace headroom {
namespace {

constexpr const char* kLossLayer = "loss";

Shape batched(const Net& net, std::int64_t batch) {
  std::vector<std::int64_t> dims = {batch};
  dims.insert(dims.end(), net.input.begin(), net.input.end());
  return Shape(dims);
}

// fp16 holds nothing below 6e-8, where gradients of a mean over a batch soon are: they travel times this. A
// power of two: it rounds nothing, and 2^12 times a gradient of 16 still is in range.
double gradient_scale(DType dtype) { return dtype == DType::f16 ? 4096 : 1; }

// What batch normalisation of several ranks becomes; see sync_norms.
void share_norms(Graph& graph, const Lowering& how, const Distribution& ranks, DType dtype) {
  if (!how.training || !ranks.sync_norms) return;
  if (is_narrow(dtype))
    reject(Hint{"take `precision` fp32 or tf32"}, "`sync-bn` does not work in {}", name_of(dtype));
  sync_norms(graph, how.global_batch);
}

// A network from a file: as many inputs and outputs as it has, of the types it has.
Program start_imported(const Net& net, std::int64_t batch, const Lowering& how, DType dtype,
                       const Distribution& ranks) {
  Program p;
  Lowered from = net.imported->lower(p.graph, batch, how);
  share_norms(p.graph, how, ranks, dtype);
  p.images = from.images, p.logits = from.logits;
  p.inputs = std::move(from.inputs), p.outputs = std::move(from.outputs);
  p.unknown = std::move(from.unknown), p.unreached = std::move(from.unreached), p.ends = std::move(from.ends);
  if (!is_narrow(dtype)) return p;
  Narrowed narrow = narrowed(p.graph, dtype, gradient_scale(dtype));
  auto now = [&](ValueId& id, bool widened) {
    if (id == kNone) return;
    id = narrow.value[static_cast<std::size_t>(id)];
    if (widened) id = as_fp32(narrow.graph, id, kLossLayer, gradient_scale(dtype));
  };
  now(p.images, false), now(p.logits, true);
  for (Port& port : p.inputs) now(port.value, false);
  for (Port& port : p.outputs) now(port.value, true);
  for (ValueId& id : p.ends) now(id, false);
  p.graph = std::move(narrow.graph);
  return p;
}

Program start(const Net& net, std::int64_t batch, Lowering how, const Distribution& ranks = {}) {
  const DType dtype = how.dtype;
  how.dtype = master_of(dtype);
  how.items = batch;
  if (net.imported) {
    if (ranks.model_parts > 1)
      reject(Hint{"take `parallel` data"}, "the layers of a network from a file cannot be cut among ranks");
    return start_imported(net, batch, how, dtype, ranks);
  }
  Program p;
  p.images = p.graph.add_value({.name = "images",
                                .type = {batched(net, batch), reads_tokens(net) ? DType::i32 : how.dtype},
                                .role = Role::input,
                                .producer = kNone,
                                .init = {},
                                .layer = {}});
  p.logits = lower(net, p.graph, p.images, how);
  if (ranks.model_parts > 1 && split_linears(p.graph, ranks) == 0)
    reject(Hint{"take `parallel` data"},
           "network '{}' has no two linear layers in a row, of {} units or more, to be cut among {} ranks",
           net.name, ranks.model_parts, ranks.model_parts);
  share_norms(p.graph, how, ranks, dtype);
  p.inputs = {{"input", p.images}};
  p.outputs = {{net.layers.back().name, p.logits}};
  if (!is_narrow(dtype)) return p;
  Narrowed narrow = narrowed(p.graph, dtype, gradient_scale(dtype));
  p.images = narrow.value[static_cast<std::size_t>(p.images)];
  p.logits = as_fp32(narrow.graph, narrow.value[static_cast<std::size_t>(p.logits)], kLossLayer,
                     gradient_scale(dtype));
  p.graph = std::move(narrow.graph);
  p.inputs[0].value = p.images;
  p.outputs[0].value = p.logits;
  return p;
}

// Scores of every token are rows like any others, with a label each.
void rows_of_tokens(Program& p, const Net& net) {
  const Shape out = p.graph.value(p.logits).type.shape;
  if (!reads_tokens(net) || out.rank() != 3) return;
  p.labels_each = out[1];
  const std::vector<std::int64_t> rows = {out[0] * out[1], out[2]};
  p.logits = p.graph.add_node("reshape", {p.logits}, {{"shape", rows}}, kLossLayer).at(0);
}

// Images and labels are what there is to feed.
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

void require_classes(const Program& p, const Net& net) {
  const Shape& out = p.graph.value(p.logits).type.shape;
  if (out.rank() != 2)
    reject(Hint{"end the network with a linear layer, one unit per class"},
           "network '{}' ends in {} per image, not in one number per class", net.name,
           out.without_first().str());
}

// Outputs against the network's own inputs, whatever their shapes, if they are as many.
void add_reconstruction(Program& p, const Net& net, const Attrs& attrs) {
  const Shape in = p.graph.value(p.images).type.shape, out = p.graph.value(p.logits).type.shape;
  if (in.numel() != out.numel())
    reject(Hint{"its last layer must give as many numbers as its input has"},
           "network '{}' gives {} for an input of {}, so it reconstructs nothing", net.name,
           out.without_first().str(), in.without_first().str());
  ValueId target = p.images;
  if (in != out) target = p.graph.add_node("reshape", {target}, {{"shape", out.vector()}}, kLossLayer).at(0);
  p.loss = p.graph.add_node("squared_error", {p.logits, target}, attrs, kLossLayer).at(0);
}

// The loss is the mean over all rows of the batch, wherever they are: `global_batch` items, or those here.
void add_loss(Program& p, const Net& net, std::int64_t batch, std::int64_t global_batch) {
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
  p.correct = p.graph.add_node("count_correct", {p.logits, p.labels}, {}, kLossLayer).at(0);
}

// The penalty only changes the number reported: its gradient is part of the update.
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

// The same where ranks share the work: each adds up what it holds, of what all hold the first one alone; and
// what is reported is the sum, ready in the update phase.
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

}  // namespace

Program make_forward(const Net& net, std::int64_t batch, DType dtype, Fusion fusion,
                     const Distribution& ranks) {
  Program p = start(net, batch, {.dtype = dtype}, ranks);
  for (const Port& port : p.outputs) p.graph.outputs.push_back(port.value);
  for (ValueId end : p.ends)
    if (std::ranges::find(p.graph.outputs, end) == p.graph.outputs.end()) p.graph.outputs.push_back(end);
  if (fusion != Fusion::none) fuse(p.graph);
  drop_unused(p.graph);
  if (fusion == Fusion::blocks && !is_narrow(dtype)) fuse_blocks(p.graph);
  return p;
}

Program make_self_gradient(const Net& net, std::int64_t batch, const ProgramOptions& options,
                           bool of_images) {
  Program p = start(net, batch, {.dtype = options.dtype, .training = true, .seed = options.seed});
  std::vector<ValueId> wanted = p.graph.with_role(Role::parameter);
  if (of_images) wanted.push_back(p.images);
  for (const auto& [value, gradient] : differentiate(p.graph, p.logits, wanted, p.logits)) {
    p.graph.value(gradient).name = p.graph.value(value).name + ".gradient";
    p.graph.outputs.push_back(gradient);
  }
  p.graph.outputs.push_back(p.logits);
  fuse(p.graph);
  drop_unused(p.graph);
  lay_out(p.graph, options.capabilities, options.layout);
  return p;
}

void require_complete(const Program& p, const Net& net) {
  if (p.unknown.empty()) return;
  const UnknownNode& first = p.unknown.front();
  const std::string more =
      p.unknown.size() > 1 ? fmt::format("; nodes of that kind: {}", p.unknown.size()) : "";
  reject(Hint{"headroom model show lists what is not known; the rest can be predicted with `mode` eval"},
         "network '{}' cannot be run: {} ('{}'): {}{}", net.name, first.op, first.node, first.reason, more);
}

Program make_program(const Net& net, Mode mode, std::int64_t batch, const ProgramOptions& options) {
  const Update& update = options.update;
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0) batch = fixed;
  const bool spread = mode == Mode::train && options.ranks.ranks() > 1;
  Program p = start(net, batch,
                    {.dtype = options.dtype,
                     .training = mode == Mode::train,
                     .seed = options.seed,
                     .first_item = options.first_item,
                     .global_batch = options.global_batch},
                    options.ranks);
  require_complete(p, net);
  require_one_input(p, net);
  add_loss(p, net, batch, spread ? options.global_batch : 0);
  const ValueId data_loss = p.loss;
  if (mode == Mode::train) {
    const double l2 = penalty_in_loss(update) ? update.l2 : 0;
    if (spread)
      add_ranks_report(p, l2, options.ranks);
    else
      add_penalty(p, l2);
    auto gradients = differentiate(p.graph, data_loss, p.graph.with_role(Role::parameter));
    if (options.ranks.data_parts > 1)
      gradients =
          reduce_gradients(p.graph, gradients, options.ranks, options.capabilities.kind == DeviceKind::cpu);
    for (const auto& [parameter, gradient] : gradients) {
      p.graph.value(gradient).name = p.graph.value(parameter).name + ".gradient";
      if (options.keep_gradients) p.graph.outputs.push_back(gradient);
    }
    add_updates(p.graph, gradients, update, options.ranks);
    if (options.tally) add_tally(p, spread ? options.global_batch : batch);
  }
  p.graph.outputs.push_back(p.loss);
  if (p.stop != kNone) p.graph.outputs.push_back(p.stop);
  if (p.correct != kNone) p.graph.outputs.push_back(p.correct);
  if (mode == Mode::eval) p.graph.outputs.push_back(p.logits);
  fuse(p.graph);
  drop_unused(p.graph);
  if (mode == Mode::train && options.fuse_head) fuse_head(p.graph);
  if (mode == Mode::eval && options.fuse_blocks && !is_narrow(options.dtype)) fuse_blocks(p.graph);
  lay_out(p.graph, options.capabilities, options.layout);
  // Gathered casts would come after all gradients, which begin their way to other ranks one by one.
  if (options.capabilities.kind == DeviceKind::cuda && !spread) gather_casts(p.graph);
  return p;
}

ValueId gradient_of(const Program& program, std::string_view parameter) {
  const ValueId id = program.graph.find(fmt::format("{}.gradient", parameter));
  if (id == kNone) fail("no gradient of '{}'", parameter);
  return id;
}

}  // namespace headroom
