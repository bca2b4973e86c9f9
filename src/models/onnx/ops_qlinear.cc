// Products of 8-bit integers, and operators that take and give quantised tensors.
#include "models/onnx/onnx.pb.h"
#include "models/onnx/quantized.h"
#include "models/onnx/window.h"

namespace headroom::onnx {
namespace {

SmallType type_of_bytes(const Context& c, std::size_t i) {
  const DType dtype = c.type(i).dtype;
  if (!is_8bit(dtype)) c.unsupported(fmt::format("its input {} is {}, not int8 or uint8", i, name_of(dtype)));
  return *small_type(dtype == DType::u8 ? TensorProto::UINT8 : TensorProto::INT8);
}

// Stored weights count as parameters.
ValueId bytes(Context& c, std::size_t i) {
  return c.is_known(i) && c.operand(i).known->count() > 1 ? c.weights(i) : c.value(i);
}

// Zero points, or scales, of a matrix: one, or one for each of its `lines`, also written with axes of 1.
Term by_lines(Context& c, const Term& term, std::int64_t lines) {
  const Shape shape = shape_of(c, term);
  if (shape.numel() == 1) return reshaped(c, term, {});
  for (std::int64_t d : shape.dims())
    if (d != 1 && d != lines) c.unsupported("each matrix of a batch has zero points or scales of its own");
  if (shape.numel() != lines)
    c.invalid(fmt::format("{} zero points or scales for {} lines", shape.str(), lines));
  return reshaped(c, term, {lines});
}

Term zeros_of(Context& c, std::size_t zero, DType dtype, std::int64_t lines) {
  if (!c.has_input(zero)) return Term(repeated_constant({}, dtype, 0));
  const Term term = input(c, zero);
  if (type_of(c, term).dtype != dtype)
    c.invalid(fmt::format("its zero point (input {}) is {}, and its integers are {}", zero,
                          name_of(type_of(c, term).dtype), name_of(dtype)));
  return by_lines(c, term, lines);
}

// (a - zero)(b - zero); all four are numbers of inputs.
ValueId product(Context& c, std::size_t a, std::size_t b, std::size_t a_zero, std::size_t b_zero) {
  const SmallType left = type_of_bytes(c, a), right = type_of_bytes(c, b);
  const Shape rows = c.shape(a), columns = c.shape(b);
  if (rows.rank() == 0 || columns.rank() == 0) c.invalid("a scalar is not a matrix");
  const std::int64_t m = rows.rank() == 1 ? 1 : rows[rows.rank() - 2];
  const std::int64_t n = columns.rank() == 1 ? 1 : columns[columns.rank() - 1];
  return c.emit("matmul_integer", {bytes(c, a), bytes(c, b), value_of(c, zeros_of(c, a_zero, left.dtype, m)),
                                   value_of(c, zeros_of(c, b_zero, right.dtype, n))});
}

ValueId convolution(Context& c, std::size_t x, std::size_t w, std::size_t x_zero, std::size_t w_zero) {
  const SmallType image = type_of_bytes(c, x), weights = type_of_bytes(c, w);
  const Shape from = c.shape(x), kernel = c.shape(w);
  if (from.rank() != kernel.rank() || from.rank() < 3)
    c.invalid(fmt::format("{} with kernels {}", from.str(), kernel.str()));
  if (from.rank() > 4) c.unsupported(fmt::format("convolution over {} axes", from.rank() - 2));
  const bool line = from.rank() == 3;
  Attrs attrs = window_attrs(c, Ints(kernel.dims().begin() + 2, kernel.dims().end()));
  if (const std::int64_t groups = c.integer("group", 1); groups != 1) attrs.set("groups", groups);
  return c.emit("conv2d_integer",
                {as_images(c, bytes(c, x), line), as_images(c, bytes(c, w), line),
                 value_of(c, zeros_of(c, x_zero, image.dtype, 1)),
                 value_of(c, zeros_of(c, w_zero, weights.dtype, kernel[0]))},
                attrs);
}

// One factor for sums: what a unit of both inputs is worth in units of the output.
Term factor_of(Context& c, const Term& first, const Term& second, const Term& result) {
  return apply(c, "div", {apply(c, "mul", {first, second}), reshaped(c, result, {})});
}

Results convert_matmul_integer(Context& c) {
  c.require_inputs(2, 4);
  return {product(c, 0, 1, 2, 3)};
}

Results convert_conv_integer(Context& c) {
  c.require_inputs(2, 4);
  const bool line = c.shape(0).rank() == 3;
  return {as_lines(c, convolution(c, 0, 1, 2, 3), line)};
}

Results convert_qlinear_matmul(Context& c) {
  c.require_inputs(8, 8);
  const Term sums = product(c, 0, 3, 2, 5);
  const Shape rows = c.shape(0), columns = c.shape(3);
  const int rank = shape_of(c, sums).rank();
  const Term a = by_lines(c, scale_input(c, 1), rows.rank() == 1 ? 1 : rows[rows.rank() - 2]);
  const Term b = by_lines(c, scale_input(c, 4), columns.rank() == 1 ? 1 : columns[columns.rank() - 1]);
  const bool each_row = shape_of(c, a).rank() > 0, each_column = shape_of(c, b).rank() > 0;
  if (each_row && each_column) c.unsupported("each row and each column has a scale of its own");
  Attrs where;
  if (each_row || each_column) where.set("axis", std::int64_t{rank - (each_row ? 2 : 1)});
  const SmallType to = type_of_bytes(c, 7);
  return {
      quantized(c, sums, factor_of(c, a, b, scale_input(c, 6)), zero_input(c, 7, to.dtype, {}), to, where)};
}

Results convert_qlinear_conv(Context& c) {
  c.require_inputs(8, 9);
  const bool line = c.shape(0).rank() == 3;
  const std::int64_t maps = c.shape(3)[0];
  ValueId sums = convolution(c, 0, 3, 2, 5);
  if (c.has_input(8)) {
    if (c.type(8) != TensorType{{maps}, DType::i32})
      c.invalid(fmt::format("its bias is {} {}, not {} of int32", name_of(c.type(8).dtype), c.shape(8).str(),
                            Shape{maps}.str()));
    const ValueId bias = c.emit("reshape", {bytes(c, 8)}, {{"shape", Ints{maps, 1, 1}}});
    sums = c.emit("add", {sums, bias});
  }
  const Term x = reshaped(c, scale_input(c, 1), {}), w = by_lines(c, scale_input(c, 4), maps);
  Attrs where;
  if (shape_of(c, w).rank() > 0) where.set("axis", std::int64_t{1});
  const SmallType to = type_of_bytes(c, 7);
  const Term y =
      quantized(c, sums, factor_of(c, x, w, scale_input(c, 6)), zero_input(c, 7, to.dtype, {}), to, where);
  return {as_lines(c, value_of(c, y), line)};
}

// A quantised tensor, its scale and its zero point are three inputs in a row.
Term widened(Context& c, std::size_t i) {
  const SmallType from = type_of_bytes(c, i);
  const Term scale = reshaped(c, scale_input(c, i + 1), {});
  return dequantized(c, input(c, i), scale, zero_input(c, i + 2, from.dtype, {}));
}

Term narrowed(Context& c, const Term& y, std::size_t scale, const SmallType& to) {
  return quantized(c, y, reshaped(c, scale_input(c, scale), {}), zero_input(c, scale + 1, to.dtype, {}), to);
}

template <const char* op>
Results convert_qlinear_pair(Context& c) {
  c.require_inputs(7, 8);
  return {narrowed(c, apply(c, op, {widened(c, 0), widened(c, 3)}), 6, type_of_bytes(c, 0))};
}
constexpr char kAdd[] = "add", kMul[] = "mul";

Results convert_qlinear_sigmoid(Context& c) {
  c.require_inputs(4, 5);
  return {narrowed(c, apply(c, "sigmoid", {widened(c, 0)}), 3, type_of_bytes(c, 0))};
}

Results convert_qlinear_leaky_relu(Context& c) {
  c.require_inputs(4, 5);
  const Attrs attrs{{"alpha", c.real("alpha", 0.01)}};
  return {narrowed(c, apply(c, "leaky_relu", {widened(c, 0)}, attrs), 3, type_of_bytes(c, 0))};
}

Results convert_qlinear_global_average_pool(Context& c) {
  c.require_inputs(5, 5);
  if (c.shape(0).rank() != 4) c.unsupported(fmt::format("pooling of {}", c.shape(0).str()));
  if (c.integer("channels_last", 0) != 0) c.unsupported("channels in the last axis");
  return {narrowed(c, apply(c, "global_avg_pool", {widened(c, 0)}), 3, type_of_bytes(c, 0))};
}

Results convert_qlinear_concat(Context& c) {
  if (c.inputs() < 5 || c.inputs() % 3 != 2) c.invalid(fmt::format("it has {} inputs", c.inputs()));
  std::vector<Term> parts;
  for (std::size_t i = 2; i < c.inputs(); i += 3) parts.push_back(widened(c, i));
  const std::int64_t axis = axis_in(c, c.integer("axis"), shape_of(c, parts[0]).rank());
  return {narrowed(c, apply(c, "concat", parts, {{"axis", axis}}), 0, type_of_bytes(c, 2))};
}

}  // namespace

std::vector<Conversion> qlinear_conversions() {
  return {{"MatMulInteger", convert_matmul_integer},
          {"ConvInteger", convert_conv_integer},
          {"QLinearMatMul", convert_qlinear_matmul},
          {"QLinearConv", convert_qlinear_conv},
          {"com.microsoft:QLinearAdd", convert_qlinear_pair<kAdd>},
          {"com.microsoft:QLinearMul", convert_qlinear_pair<kMul>},
          {"com.microsoft:QLinearSigmoid", convert_qlinear_sigmoid},
          {"com.microsoft:QLinearLeakyRelu", convert_qlinear_leaky_relu},
          {"com.microsoft:QLinearGlobalAveragePool", convert_qlinear_global_average_pool},
          {"com.microsoft:QLinearConcat", convert_qlinear_concat}};
}

}  // namespace headroom::onnx
