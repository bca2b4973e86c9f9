// Elementwise: functions of one element, and of several broadcast to a common shape.

#include <limits>
#include <map>

#include "models/onnx/terms.h"
#include "ops/operator.h"

namespace headroom::onnx {
namespace {

// Before opset 7 nothing is broadcast unless the node asks for it; then b is aligned at an axis of a.
Term aligned(Context& c, const Term& b) {
  if (c.opset() >= 7 || c.integer("broadcast", 0) == 0) return b;
  const Shape a = c.shape(0), shape = shape_of(c, b);
  const std::int64_t axis =
      c.has("axis") ? axis_in(c, c.integer("axis"), a.rank()) : std::int64_t{a.rank() - shape.rank()};
  const std::int64_t behind = a.rank() - axis - shape.rank();
  if (behind < 0) c.invalid("the second operand has more axes than the first");
  Ints dims = shape.vector();
  dims.insert(dims.end(), static_cast<std::size_t>(behind), 1);
  return reshaped(c, b, dims);
}

Results convert_pow(Context& c) {
  c.require_inputs(2, 2);
  const Term x = input(c, 0);
  need_number(c, x);
  const Term y = apply(c, "pow", {floats(c, x), floats(c, aligned(c, input(c, 1)))});
  return {cast_to(c, y, type_of(c, x).dtype)};
}

Results convert_mod(Context& c) {
  c.require_inputs(2, 2);
  return {of_numbers(c, "mod", {input(c, 0), input(c, 1)}, {{"fmod", c.integer("fmod", 0)}})};
}

// Any number of operands, one after another.
Term chained(Context& c, std::string_view op) {
  if (c.inputs() == 0) c.invalid("it has no inputs");
  Term all = input(c, 0);
  for (std::size_t i = 1; i < c.inputs(); ++i) all = of_numbers(c, op, {all, input(c, i)});
  return all;
}

Results convert_mean(Context& c) {
  const Term sum = chained(c, "add");
  if (c.inputs() == 1) return {sum};
  need_float(c, sum);
  return {apply(c, "mul", {sum, number(c, 1 / static_cast<double>(c.inputs()))})};
}

Results one(Context& c, std::string_view op, const Attrs& attrs = {}) {
  c.require_inputs(1, 1);
  need_float(c, input(c, 0));
  return {apply(c, op, {input(c, 0)}, attrs)};
}

// Integers use 0 - x.
Results convert_neg(Context& c) {
  const Term x = input(c, 0);
  need_number(c, x);
  if (is_float(type_of(c, x).dtype)) return one(c, "neg");
  return {apply(c, "sub", {number_like(c, x, 0), x})};
}

Results convert_abs(Context& c) {
  const Term x = input(c, 0);
  need_number(c, x);
  if (is_float(type_of(c, x).dtype)) return one(c, "abs");
  return {apply(c, "maximum", {x, apply(c, "sub", {number_like(c, x, 0), x})})};
}

Results convert_sign(Context& c) {
  const Term x = input(c, 0);
  need_number(c, x);
  if (is_float(type_of(c, x).dtype)) return one(c, "sign");
  return {apply(c, "minimum", {number_like(c, x, 1), apply(c, "maximum", {number_like(c, x, -1), x})})};
}

Results convert_relu(Context& c) {
  c.require_inputs(1, 1);
  const Term x = input(c, 0);
  need_number(c, x);
  if (is_float(type_of(c, x).dtype)) return one(c, "relu");
  return {apply(c, "maximum", {x, number_like(c, x, 0)})};
}

// Integers stay unchanged.
Results rounded(Context& c, std::string_view op) {
  if (!is_float(c.type(0).dtype)) return {input(c, 0)};
  return one(c, op);
}

Results convert_reciprocal(Context& c) {
  need_float(c, input(c, 0));
  return {apply(c, "div", {number(c, 1), input(c, 0)})};
}

// gamma (x, or alpha (e^x - 1) below 0)
Results convert_selu(Context& c) {
  const bool old = c.opset() < 6;  // rounded to four digits then
  const double alpha = c.real("alpha", old ? 1.6732 : 1.67326319217681884765625);
  const double gamma = c.real("gamma", old ? 1.0507 : 1.05070102214813232421875);
  need_float(c, input(c, 0));
  const Term y = apply(c, "elu", {input(c, 0)}, {{"alpha", alpha}});
  return {apply(c, "mul", {y, number(c, gamma)})};
}

// x, or alpha (e^(x / alpha) - 1) below 0: alpha times the elu of x / alpha.
Results convert_celu(Context& c) {
  const double alpha = c.real("alpha", 1);
  if (alpha == 1) return one(c, "elu", {{"alpha", 1.0}});
  if (!(alpha > 0)) c.unsupported(fmt::format("alpha is {}", alpha));
  need_float(c, input(c, 0));
  const Term y = apply(c, "elu", {apply(c, "mul", {input(c, 0), number(c, 1 / alpha)})}, {{"alpha", 1.0}});
  return {apply(c, "mul", {y, number(c, alpha)})};
}

Results convert_thresholded_relu(Context& c) {
  const Term x = input(c, 0), zero = number(c, 0);
  need_float(c, x);
  return {apply(c, "where", {apply(c, "greater", {x, number(c, c.real("alpha", 1))}), x, zero})};
}

// One slope for all is a leaky ReLU, unless it is to be learned.
Results convert_prelu(Context& c) {
  c.require_inputs(2, 2);
  const Term x = input(c, 0);
  need_float(c, x);
  if (c.is_known(1) && !c.is_learned(1) && c.known(1).count() == 1)
    return {apply(c, "leaky_relu", {x}, {{"alpha", c.known_real(1)}})};
  Term slope = input(c, 1);
  if (const Shape s = shape_of(c, slope); c.opset() < 7 && s.rank() == 1 && s[0] > 1) {
    Ints dims(static_cast<std::size_t>(shape_of(c, x).rank() - 1), 1);
    dims[0] = s[0];
    slope = reshaped(c, slope, dims);  // one per channel
  }
  const Term below = apply(c, "less", {x, number(c, 0)});
  return {apply(c, "where", {below, apply(c, "mul", {x, slope}), x})};
}

Results convert_softsign(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  return {apply(c, "div", {x, apply(c, "add", {apply(c, "abs", {x}), number(c, 1)})})};
}

Results convert_mish(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  return {apply(c, "mul", {x, apply(c, "tanh", {apply(c, "softplus", {x})})})};
}

Term swish(Context& c, const Term& x) {
  need_float(c, x);
  const double alpha = c.real("alpha", 1);
  const Term inner = alpha == 1 ? x : apply(c, "mul", {x, number(c, alpha)});
  return apply(c, "mul", {x, apply(c, "sigmoid", {inner})});
}

Results convert_swish(Context& c) { return {swish(c, input(c, 0))}; }

Results convert_swiglu(Context& c) {
  c.require_inputs(2, 2);
  return {apply(c, "mul", {swish(c, input(c, 0)), input(c, 1)})};
}

// Shifts what lies outside of [-lambd, lambd] by the bias towards 0, and drops the rest.
Results convert_shrink(Context& c) {
  const Term x = input(c, 0), bias = number(c, c.real("bias", 0));
  need_float(c, x);
  const double most = c.real("lambd", 0.5);
  const Term above = apply(
      c, "where", {apply(c, "greater", {x, number(c, most)}), apply(c, "sub", {x, bias}), number(c, 0)});
  return {apply(c, "where", {apply(c, "less", {x, number(c, -most)}), apply(c, "add", {x, bias}), above})};
}

// Bounds are attributes up to opset 10, inputs from 11 on. Unknown inputs, and integer ones, become a maximum
// and a minimum.
Results convert_clip(Context& c) {
  const Term x = input(c, 0);
  const bool by_inputs = c.opset() >= 11;
  const auto known = [&](std::size_t i) { return !c.has_input(i) || c.is_known(i); };
  if (is_float(type_of(c, x).dtype) && (!by_inputs || (known(1) && known(2)))) {
    Attrs attrs;
    const auto bound = [&](const char* name, std::size_t i) {
      if (by_inputs && c.has_input(i)) attrs.set(name, c.known_real(i));
      if (!by_inputs && c.has(name)) attrs.set(name, c.real(name));
    };
    bound("min", 1), bound("max", 2);
    if (attrs.empty()) return {x};
    return {apply(c, "clip", {x}, attrs)};
  }
  Term y = x;
  if (c.has_input(1)) y = of_numbers(c, "maximum", {y, input(c, 1)});
  if (c.has_input(2)) y = of_numbers(c, "minimum", {y, input(c, 2)});
  return {y};
}

Results compared(Context& c, std::string_view op) {
  c.require_inputs(2, 2);
  return {apply(c, op, {input(c, 0), aligned(c, input(c, 1))})};
}

// Operators of ours by the ONNX operator with the same inputs and attributes.
const std::map<std::string_view, const OpSchema*>& same_operators() {
  static const auto table = [] {
    std::map<std::string_view, const OpSchema*> all;
    for (const Operator& op : operators())
      if (op.schema.elementwise > 0 && !op.schema.onnx.empty()) all[op.schema.onnx] = &op.schema;
    return all;
  }();
  return table;
}

// A comparison takes every element type.
bool compares(const OpSchema& schema) {
  const TensorType x{{1}, DType::f32};
  return schema.infer({x, x}, {})[0].dtype == DType::boolean;
}

Results convert_same(Context& c) {
  const OpSchema& schema = *same_operators().at(c.op());
  if (schema.elementwise == 2) {
    c.require_inputs(2, 2);
    const Term a = input(c, 0), b = aligned(c, input(c, 1));
    return {compares(schema) ? apply(c, schema.name, {a, b}) : of_numbers(c, schema.name, {a, b})};
  }
  Attrs attrs;
  for (const AttributeSpec& a : schema.attributes) {
    if (a.words.empty())
      attrs.set(a.name, c.real(a.name, a.fallback));
    else
      attrs.set(a.name, c.text(a.name, a.words[0]));
  }
  return one(c, schema.name, attrs);
}

Results convert_where(Context& c) {
  c.require_inputs(3, 3);
  return {apply(c, "where", {input(c, 0), input(c, 1), input(c, 2)})};
}

Results convert_is_nan(Context& c) {
  const Term x = input(c, 0);
  return {apply(c, "logical_not", {apply(c, "equal", {x, x})})};
}

Results convert_is_inf(Context& c) {
  const Term x = input(c, 0);
  need_float(c, x);
  const bool above = c.integer("detect_positive", 1) != 0, below = c.integer("detect_negative", 1) != 0;
  if (!above && !below) c.unsupported("it detects nothing");
  const Term y = above && below ? apply(c, "abs", {x}) : above ? x : apply(c, "neg", {x});
  return {apply(c, "equal", {y, number(c, std::numeric_limits<double>::infinity())})};
}

using AlongAxis = Term (*)(Context& c, const Term& x, std::int64_t axis);

// Before opset 13 all axes from `axis` on count as one.
Results along_axis(Context& c, AlongAxis along) {
  c.require_inputs(1, 1);
  const Term x = input(c, 0);
  need_float(c, x);
  const Shape shape = shape_of(c, x);
  const bool old = c.opset() < 13;
  const std::int64_t axis = axis_in(c, c.integer("axis", old ? 1 : -1), shape.rank());
  if (!old || axis == shape.rank() - 1) return {along(c, x, axis)};
  std::int64_t rows = 1;
  for (int a = 0; a < axis; ++a) rows *= shape[a];
  // All axes after it are 1: it can stay where it is.
  if (shape.numel() / rows == shape[static_cast<int>(axis)]) return {along(c, x, axis)};
  const Term flat = reshaped(c, x, {rows, shape.numel() / rows});
  return {reshaped(c, along(c, flat, 1), shape.vector())};
}

Term softmax(Context& c, const Term& x, std::int64_t axis) {
  return apply(c, "softmax", {x}, {{"axis", axis}});
}

Term log_softmax(Context& c, const Term& x, std::int64_t axis) {
  return apply(c, "log_softmax", {x}, {{"axis", axis}});
}

// 1 at the first maximum, 0 elsewhere.
Term hardmax(Context& c, const Term& x, std::int64_t axis) {
  const Shape shape = shape_of(c, x);
  const Term best = apply(c, "arg_max", {x}, {{"axis", axis}});
  const Term places = positions(shape[static_cast<int>(axis)], axis, shape.rank());
  return floats(c, apply(c, "equal", {best, places}));
}

}  // namespace

// Where an operator is named here, that conversion comes first and is taken.
std::vector<Conversion> pointwise_conversions() {
  std::vector<Conversion> list = {
      {"Pow", convert_pow},
      {"Mod", convert_mod},
      {"Sum", [](Context& c) -> Results { return {chained(c, "add")}; }},
      {"Max", [](Context& c) -> Results { return {chained(c, "maximum")}; }},
      {"Min", [](Context& c) -> Results { return {chained(c, "minimum")}; }},
      {"Mean", convert_mean},
      {"Neg", convert_neg},
      {"Abs", convert_abs},
      {"Sign", convert_sign},
      {"Relu", convert_relu},
      {"Floor", [](Context& c) { return rounded(c, "floor"); }},
      {"Ceil", [](Context& c) { return rounded(c, "ceil"); }},
      {"Round", [](Context& c) { return rounded(c, "round"); }},
      {"Reciprocal", convert_reciprocal},
      {"Softsign", convert_softsign},
      {"Selu", convert_selu},
      {"Celu", convert_celu},
      {"ThresholdedRelu", convert_thresholded_relu},
      {"PRelu", convert_prelu},
      {"Mish", convert_mish},
      {"Swish", convert_swish},
      {"Clip", convert_clip},
      {"SwiGLU", convert_swiglu},
      {"Shrink", convert_shrink},
      {"Softmax", [](Context& c) { return along_axis(c, softmax); }},
      {"LogSoftmax", [](Context& c) { return along_axis(c, log_softmax); }},
      {"Hardmax", [](Context& c) { return along_axis(c, hardmax); }},
      {"And", [](Context& c) { return compared(c, "logical_and"); }},
      {"Or", [](Context& c) { return compared(c, "logical_or"); }},
      {"Xor", [](Context& c) { return compared(c, "logical_xor"); }},
      {"Not", [](Context& c) -> Results { return {apply(c, "logical_not", {input(c, 0)})}; }},
      {"IsNaN", convert_is_nan},
      {"IsInf", convert_is_inf},
      {"Where", convert_where},
  };
  for (const auto& [name, schema] : same_operators()) list.push_back({name, convert_same});
  return list;
}

}  // namespace headroom::onnx
