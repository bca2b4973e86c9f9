// Normalisations and dropout.

#include "models/onnx/terms.h"

namespace headroom::onnx {
namespace {

// Training normalises by the batch and keeps running statistics; evaluation uses the running statistics.
Results convert_batch_norm(Context& c) {
  c.require_inputs(5, 5);
  need_float(c, input(c, 0));
  if (c.integer("spatial", 1) != 1) c.unsupported("spatial = 0: statistics for each place of a map");
  const double epsilon = c.real("epsilon", 1e-5);
  std::vector<ValueId> operands = {c.value(0), c.value(1), c.value(2)};
  for (std::size_t i : {3u, 4u}) operands.push_back(c.is_known(i) ? c.statistic(i) : c.value(i));
  if (!c.training() || !c.is_known(3) || !c.is_known(4)) {
    if (c.integer("training_mode", 0) == 1 && c.wants_output(1))
      c.unsupported("outputs of running statistics");
    return {Term(c.emit("batch_norm_inference", operands, {{"epsilon", epsilon}}))};
  }
  const double momentum = 1 - c.real("momentum", 0.9);
  return {Term(c.emit("batch_norm", operands, {{"epsilon", epsilon}, {"momentum", momentum}}))};
}

// One factor or summand per channel of [N, C, …].
Term per_channel(Context& c, const Term& term, int rank) {
  Ints dims(static_cast<std::size_t>(std::max(rank - 1, 1)), 1);
  dims[0] = shape_of(c, term).numel();
  return reshaped(c, term, dims);
}

// Normalises each row of [rows, length] by its own mean and variance.
Term normalized_rows(Context& c, const Term& x, std::int64_t rows, double epsilon) {
  const Shape shape = shape_of(c, x);
  const std::int64_t length = shape.numel() / rows;
  const DType wide = master_of(c.dtype());
  const Term one = repeated_constant({length}, wide, 1), zero = repeated_constant({length}, wide, 0);
  const Term flat = reshaped(c, x, {rows, length});
  const Term y = apply(c, "layer_norm", {flat, one, zero}, {{"axis", std::int64_t{1}}, {"epsilon", epsilon}});
  return reshaped(c, y, shape.vector());
}

Term scaled(Context& c, const Term& x, const Term& scale, const Term& bias) {
  const int rank = shape_of(c, x).rank();
  return apply(c, "add", {apply(c, "mul", {x, per_channel(c, scale, rank)}), per_channel(c, bias, rank)});
}

Results convert_instance_norm(Context& c) {
  c.require_inputs(3, 3);
  const Term x = input(c, 0);
  need_float(c, x);
  const Shape shape = shape_of(c, x);
  if (shape.rank() < 3) c.invalid(fmt::format("it needs [N, C, …], not {}", shape.str()));
  const Term y = normalized_rows(c, x, shape[0] * shape[1], c.real("epsilon", 1e-5));
  return {scaled(c, y, input(c, 1), input(c, 2))};
}

// One scale per group up to opset 20, one per channel from 21 on.
Results convert_group_norm(Context& c) {
  c.require_inputs(3, 3);
  const Term x = input(c, 0);
  need_float(c, x);
  const Shape shape = shape_of(c, x);
  const std::int64_t groups = c.integer("num_groups");
  if (shape.rank() < 2 || groups < 1 || shape[1] % groups != 0)
    c.invalid(fmt::format("{} groups of {}", groups, shape.str()));
  const Term y = normalized_rows(c, x, shape[0] * groups, c.real("epsilon", 1e-5));
  const auto of_channels = [&](const Term& term) {
    const std::int64_t given_count = shape_of(c, term).numel(), each = shape[1] / groups;
    if (given_count == shape[1]) return term;
    if (given_count != groups) c.invalid("scale and bias are for groups or channels");
    return apply(c, "expand", {reshaped(c, term, {groups, 1})}, {{"shape", Ints{groups, each}}});
  };
  return {scaled(c, y, of_channels(input(c, 1)), of_channels(input(c, 2)))};
}

Results convert_layer_norm(Context& c) {
  c.require_inputs(2, 3);
  const Term x = input(c, 0);
  need_float(c, x);
  const Shape shape = shape_of(c, x);
  const std::int64_t axis = axis_in(c, c.integer("axis", -1), shape.rank());
  const Ints row(shape.dims().begin() + axis, shape.dims().end());
  const auto as_row = [&](Term term) {
    const Shape own = shape_of(c, term);
    if (own.numel() == Shape(row).numel()) return reshaped(c, term, row);
    return apply(c, "expand", {term}, {{"shape", row}});
  };
  const Term scale = as_row(input(c, 1));
  const Term bias =
      c.has_input(2) ? as_row(input(c, 2)) : Term(repeated_constant(Shape(row), master_of(c.dtype()), 0));
  const std::vector<Term> out =
      apply_all(c, "layer_norm", {x, scale, bias}, {{"axis", axis}, {"epsilon", c.real("epsilon", 1e-5)}});
  Results results = {out[0]};
  for (std::size_t i = 1; i < c.outputs(); ++i)
    results.push_back(c.wants_output(i) ? floats(c, out.at(i)) : Term());
  return results;
}

// x / sqrt(mean of squares + epsilon), over the axes from `axis` on.
Results convert_rms_norm(Context& c) {
  c.require_inputs(2, 2);
  const Term x = input(c, 0);
  need_float(c, x);
  const int rank = shape_of(c, x).rank();
  Ints axes;
  for (std::int64_t a = axis_in(c, c.integer("axis", -1), rank); a < rank; ++a) axes.push_back(a);
  const Term mean = apply(c, "reduce_mean", {apply(c, "mul", {x, x})}, {{"axes", axes}});
  const Term root = apply(c, "sqrt", {apply(c, "add", {mean, number(c, c.real("epsilon", 1e-5))})});
  return {apply(c, "mul", {apply(c, "div", {x, root}), input(c, 1)})};
}

Results convert_lrn(Context& c) {
  need_float(c, input(c, 0));
  return {apply(c, "lrn", {input(c, 0)},
                {{"size", c.integer("size")},
                 {"alpha", c.real("alpha", 1e-4)},
                 {"beta", c.real("beta", 0.75)},
                 {"bias", c.real("bias", 1)}})};
}

Results convert_lp_normalization(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  const std::int64_t p = c.integer("p", 2), axis = axis_in(c, c.integer("axis", -1), shape_of(c, x).rank());
  if (p != 1 && p != 2) c.invalid(fmt::format("p is {}, not 1 or 2", p));
  const Term size = p == 1 ? apply(c, "abs", {x}) : apply(c, "mul", {x, x});
  const Term sum = apply(c, "reduce_sum", {size}, {{"axes", Ints{axis}}});
  // Zeros stay zeros. They are divided by 1, so that their gradients are finite too.
  const Term zero = apply(c, "equal", {sum, number(c, 0)});
  const Term safe = apply(c, "where", {zero, number(c, 1), sum});
  const Term y = apply(c, "div", {x, p == 1 ? safe : apply(c, "sqrt", {safe})});
  return {apply(c, "where", {zero, number(c, 0), y})};
}

Results convert_mean_variance(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  const Ints axes = axes_in(c, c.integers("axes", {0, 2, 3}), shape_of(c, x).rank());
  const Term centred = apply(c, "sub", {x, apply(c, "reduce_mean", {x}, {{"axes", axes}})});
  const Term variance = apply(c, "reduce_mean", {apply(c, "mul", {centred, centred})}, {{"axes", axes}});
  // The operator's definition adds this to the deviation.
  return {apply(c, "div", {centred, apply(c, "add", {apply(c, "sqrt", {variance}), number(c, 1e-9)})})};
}

// Distinguishes the dropouts of a network, in the same way in every run.
std::int64_t key_of(const std::string& layer) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (unsigned char ch : layer) hash = (hash ^ ch) * 1099511628211ULL;
  return static_cast<std::int64_t>(hash >> 2);
}

Results convert_dropout(Context& c) {
  const Term x = input(c, 0);
  double rate = c.opset() < 12 ? c.real("ratio", 0.5) : c.has_input(1) ? c.known_real(1) : 0.5;
  if (!(rate >= 0 && rate < 1)) c.invalid(fmt::format("a ratio of {}", rate));
  if (!c.training() || rate == 0) {
    if (!c.wants_output(1)) return {x};
    return {x, repeated_constant(shape_of(c, x), c.opset() < 10 ? master_of(c.dtype()) : DType::boolean, 1)};
  }
  if (c.wants_output(1)) c.unsupported("the mask as an output");
  need_float(c, x);
  return {Term(c.emit("dropout", {c.value(0), c.step()},
                      {{"rate", rate},
                       {"key", key_of(c.layer())},
                       {"seed", c.seed()},
                       {"first", c.first_element(c.value(0))}}))};
}

}  // namespace

std::vector<Conversion> normalize_conversions() {
  return {{"BatchNormalization", convert_batch_norm},
          {"InstanceNormalization", convert_instance_norm},
          {"GroupNormalization", convert_group_norm},
          {"LayerNormalization", convert_layer_norm},
          {"RMSNormalization", convert_rms_norm},
          {"LRN", convert_lrn},
          {"LpNormalization", convert_lp_normalization},
          {"MeanVarianceNormalization", convert_mean_variance},
          {"Dropout", convert_dropout}};
}

}  // namespace headroom::onnx
