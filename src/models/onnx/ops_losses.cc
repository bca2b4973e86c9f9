// Losses as nodes: what a network that was exported for training ends in.

#include "models/onnx/places.h"

namespace headroom::onnx {
namespace {

// Log-probabilities [N, C, …] of the classes that the targets [N, …] name, weighted by class. An item whose
// target is ignored counts nothing.
Term negative_log_likelihood(Context& c, const Term& x, std::size_t weight) {
  const Shape shape = shape_of(c, x);
  const Term target = cast_to(c, input(c, 1), DType::i64);
  Ints dims = shape.vector();
  if (shape.rank() < 2) c.invalid(fmt::format("scores {} without an axis of classes", shape.str()));
  dims.erase(dims.begin() + 1);
  if (shape_of(c, target) != Shape(dims))
    c.invalid(fmt::format("targets {} for scores {}", shape_of(c, target).str(), shape.str()));
  const bool ignores = c.has("ignore_index");
  const Term ignored = apply(c, "equal", {target, integers({}, {c.integer("ignore_index", -1)})});
  const Term safe = ignores ? apply(c, "where", {ignored, integers({}, {0}), target}) : target;
  Ints one_class = shape.vector();
  one_class[1] = 1;
  const Term places = element_places(c, reshaped(c, safe, one_class), shape, 1);
  const Term picked = reshaped(
      c, apply(c, "gather", {reshaped(c, x, {shape.numel()}), places}, {{"axis", std::int64_t{0}}}), dims);
  const bool weighted = c.has_input(weight);
  Term scale = weighted ? apply(c, "gather", {floats(c, input(c, weight)), safe}, {{"axis", std::int64_t{0}}})
                        : number(c, 1);
  if (ignores) scale = apply(c, "where", {ignored, number(c, 0), scale});
  const Term loss = apply(c, "neg", {weighted || ignores ? apply(c, "mul", {picked, scale}) : picked});
  const std::string reduction = c.text("reduction", "mean");
  if (reduction == "none") return loss;
  Ints all(dims.size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  const Attrs over_all{{"axes", all}, {"keepdims", std::int64_t{0}}};
  if (reduction != "mean" && reduction != "sum")
    c.invalid(fmt::format("reduction '{}' is not one of none, mean, sum", reduction));
  const Term sum = apply(c, "reduce_sum", {loss}, over_all);
  if (reduction == "sum") return sum;
  if (!weighted && !ignores)
    return apply(c, "div", {sum, number(c, static_cast<double>(Shape(dims).numel()))});
  return apply(c, "div", {sum, apply(c, "reduce_sum", {scale}, over_all)});
}

Results convert_nll_loss(Context& c) {
  c.require_inputs(2, 3);
  return {negative_log_likelihood(c, floats(c, input(c, 0)), 2)};
}

Results convert_softmax_loss(Context& c) {
  c.require_inputs(2, 3);
  const Term scores = floats(c, input(c, 0));
  const Term logs = apply(c, "log_softmax", {scores}, {{"axis", std::int64_t{1}}});
  return {negative_log_likelihood(c, logs, 2), logs};
}

}  // namespace

std::vector<Conversion> loss_conversions() {
  return {{"NegativeLogLikelihoodLoss", convert_nll_loss}, {"SoftmaxCrossEntropyLoss", convert_softmax_loss}};
}

}  // namespace headroom::onnx
