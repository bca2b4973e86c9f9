#include "train/program.h"

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

Program start(const Net& net, std::int64_t batch, Lowering how) {
  const DType dtype = how.dtype;
  how.dtype = master_of(dtype);
  Program p;
  p.images = p.graph.add_value({.name = "images",
                                .type = {batched(net, batch), how.dtype},
                                .role = Role::input,
                                .producer = kNone,
                                .init = {},
                                .layer = {}});
  p.logits = lower(net, p.graph, p.images, how);
  if (!is_narrow(dtype)) return p;
  Narrowed narrow = narrowed(p.graph, dtype, gradient_scale(dtype));
  p.images = narrow.value[static_cast<std::size_t>(p.images)];
  p.logits = as_fp32(narrow.graph, narrow.value[static_cast<std::size_t>(p.logits)], kLossLayer,
                     gradient_scale(dtype));
  p.graph = std::move(narrow.graph);
  return p;
}

void require_classes(const Program& p, const Net& net) {
  const Shape& out = p.graph.value(p.logits).type.shape;
  if (out.rank() != 2)
    reject(Hint{"end the network with a linear layer, one unit per class"},
           "network '{}' ends in {} per image, not in one number per class", net.name,
           out.without_first().str());
}

// Outputs against the network's own inputs, whatever their shapes, if they are as many.
void add_reconstruction(Program& p, const Net& net) {
  const Shape in = p.graph.value(p.images).type.shape, out = p.graph.value(p.logits).type.shape;
  if (in.numel() != out.numel())
    reject(Hint{"its last layer must give as many numbers as its input has"},
           "network '{}' gives {} for an input of {}, so it reconstructs nothing", net.name,
           out.without_first().str(), in.without_first().str());
  ValueId target = p.images;
  if (in != out) target = p.graph.add_node("reshape", {target}, {{"shape", out.vector()}}, kLossLayer).at(0);
  p.loss = p.graph.add_node("squared_error", {p.logits, target}, {}, kLossLayer).at(0);
}

void add_loss(Program& p, const Net& net, std::int64_t batch) {
  if (net.loss == kReconstruction) return add_reconstruction(p, net);
  require_classes(p, net);
  p.labels = p.graph.add_value({.name = "labels",
                                .type = {{batch}, DType::i32},
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
    p.loss = p.graph.add_node("squared_error", {p.logits, wanted}, {}, kLossLayer).at(0);
  } else if (net.loss == kCrossEntropy) {
    p.loss = p.graph.add_node("cross_entropy", {p.logits, p.labels}, {}, kLossLayer).at(0);
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

Program make_forward(const Net& net, std::int64_t batch, DType dtype, bool blocks) {
  Program p = start(net, batch, {.dtype = dtype});
  p.graph.outputs = {p.logits};
  fuse(p.graph);
  drop_unused(p.graph);
  if (blocks && !is_narrow(dtype)) fuse_blocks(p.graph);
  return p;
}

Program make_program(const Net& net, Mode mode, std::int64_t batch, const ProgramOptions& options) {
  const Update& update = options.update;
  Program p =
      start(net, batch, {.dtype = options.dtype, .training = mode == Mode::train, .seed = options.seed});
  add_loss(p, net, batch);
  const ValueId data_loss = p.loss;
  if (mode == Mode::train) {
    if (penalty_in_loss(update)) add_penalty(p, update.l2);
    const auto gradients = differentiate(p.graph, data_loss, p.graph.with_role(Role::parameter));
    for (const auto& [parameter, gradient] : gradients) {
      p.graph.value(gradient).name = p.graph.value(parameter).name + ".gradient";
      if (options.keep_gradients) p.graph.outputs.push_back(gradient);
    }
    add_updates(p.graph, gradients, update);
    if (options.tally) add_tally(p, batch);
  }
  p.graph.outputs.push_back(p.loss);
  if (p.correct != kNone) p.graph.outputs.push_back(p.correct);
  if (mode == Mode::eval) p.graph.outputs.push_back(p.logits);
  fuse(p.graph);
  drop_unused(p.graph);
  if (mode == Mode::train && options.fuse_head) fuse_head(p.graph);
  if (mode == Mode::eval && options.fuse_blocks && !is_narrow(options.dtype)) fuse_blocks(p.graph);
  lay_out(p.graph, options.capabilities, options.layout);
  if (options.capabilities.kind == DeviceKind::cuda) gather_casts(p.graph);
  return p;
}

ValueId gradient_of(const Program& program, std::string_view parameter) {
  const ValueId id = program.graph.find(fmt::format("{}.gradient", parameter));
  if (id == kNone) fail("no gradient of '{}'", parameter);
  return id;
}

}  // namespace headroom
