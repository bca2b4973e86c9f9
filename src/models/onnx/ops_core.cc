// The operators of small image networks, and those that compute shapes.
#include <algorithm>

#include "models/onnx/terms.h"
#include "models/onnx/window.h"

namespace headroom::onnx {
namespace {

Results convert_conv(Context& c) {
  c.require_inputs(2, 3);
  need_float(c, input(c, 0));
  const Shape x = c.shape(0), w = c.shape(1);
  if (x.rank() != w.rank() || x.rank() < 3) c.invalid(fmt::format("{} with kernels {}", x.str(), w.str()));
  if (x.rank() > 5) c.unsupported(fmt::format("convolution over {} axes", x.rank() - 2));
  const bool line = x.rank() == 3;  // one axis becomes two, the first of size 1
  Attrs attrs = window_attrs(c, Ints(w.dims().begin() + 2, w.dims().end()));
  if (const std::int64_t groups = c.integer("group", 1); groups != 1) attrs.set("groups", groups);
  std::vector<ValueId> operands = {as_images(c, c.value(0), line), as_images(c, c.value(1), line)};
  if (c.has_input(2)) operands.push_back(c.value(2));
  return {as_lines(c, c.emit(x.rank() == 5 ? "conv3d" : "conv2d", operands, attrs), line)};
}

Results convert_max_pool(Context& c) {
  c.require_inputs(1, 1);
  need_float(c, input(c, 0));
  const Shape x = c.shape(0);
  if (x.rank() < 3 || x.rank() > 5) c.unsupported(fmt::format("pooling of {}", x.str()));
  if (c.wants_output(1)) c.unsupported("it also returns the positions of the maxima");
  if (c.integer("storage_order", 0) != 0) c.unsupported("columns before rows");
  const Ints kernel = c.integers("kernel_shape");
  const bool line = x.rank() == 3;
  Attrs attrs = window_attrs(c, kernel);
  attrs.set("kernel", line ? Ints{1, kernel.at(0)} : kernel);
  if (!attrs.has("strides"))
    attrs.set("strides", Ints(attrs.integers("kernel").size(), 1));  // ours would default to the kernel's
  if (c.integer("ceil_mode", 0) != 0) attrs.set("ceil_mode", std::int64_t{1});
  const ValueId images = as_images(c, c.value(0), line);
  return {as_lines(c, c.emit(x.rank() == 5 ? "max_pool3d" : "max_pool", {images}, attrs), line)};
}

// alpha * A' B' + beta * C. The form that exporters write for a dense layer becomes one linear node.
Results convert_gemm(Context& c) {
  c.require_inputs(2, 3);
  need_float(c, input(c, 0));
  if (c.shape(0).rank() != 2 || c.shape(1).rank() != 2)
    c.invalid(fmt::format("{} and {} are not matrices", c.shape(0).str(), c.shape(1).str()));
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  const std::int64_t ta = c.integer("transA", 0);
  std::int64_t tb = c.integer("transB", 0);
  const std::int64_t columns = c.shape(1)[tb ? 0 : 1];
  const bool row = c.has_input(2) && c.shape(2) == Shape{columns};
  const ValueId a = c.value(0);
  ValueId b = c.value(1);
  if (const ValueId weight = c.untransposed_parameter(b); weight != kNone) b = weight, tb = !tb;
  if (alpha == 1 && beta == 1 && !ta && tb && (row || !c.has_input(2))) {
    std::vector<ValueId> operands = {a, b};
    if (row) operands.push_back(c.value(2));
    return {c.emit("linear", operands)};
  }
  Attrs attrs;
  if (ta) attrs.set("trans_a", std::int64_t{1});
  if (tb) attrs.set("trans_b", std::int64_t{1});
  ValueId y = c.emit("matmul", {a, b}, attrs);
  if (alpha != 1) y = c.emit("mul", {y, c.constant(alpha)});
  if (!c.has_input(2) || beta == 0) return {y};
  ValueId bias = c.value(2);
  if (beta != 1) bias = c.emit("mul", {bias, c.constant(beta)});
  return {c.emit("add", {y, bias})};
}

// 0 keeps an axis of the input, unless allowzero is set: then it means size zero.
Results convert_reshape(Context& c) {
  const std::optional<Ints> wanted = c.integers_of("shape", 1);
  if (!wanted) c.invalid("it has no shape");
  const bool zero = std::ranges::find(*wanted, 0) != wanted->end();
  if (zero && c.integer("allowzero", 0) != 0) c.unsupported("a tensor without elements");
  if (wanted->empty()) return {reshaped(c, input(c, 0), {})};
  return {c.emit("reshape", {c.value(0)}, {{"shape", *wanted}})};
}

Results convert_constant(Context& c) {
  if (c.has("value")) return {c.tensor("value")};
  if (c.has("value_int")) return {constant_data({}, Ints{c.integer("value_int")})};
  if (c.has("value_float"))
    return {constant_data({}, std::vector<double>{c.real("value_float")}, DType::f32)};
  if (c.has("value_ints")) {
    const Ints list = c.integers("value_ints");
    return {constant_data({static_cast<std::int64_t>(list.size())}, list)};
  }
  if (c.has("value_floats")) {
    const std::vector<double> list = c.reals("value_floats");
    return {constant_data({static_cast<std::int64_t>(list.size())}, list, DType::f32)};
  }
  c.unsupported("a constant of strings or sparse");
}

Results convert_identity(Context& c) {
  c.require_inputs(1, 1);
  return {c.operand(0)};
}

// Shapes are known whatever the data.
Results convert_shape(Context& c) {
  c.require_inputs(1, 1);
  const Ints dims = c.shape(0).vector();
  const auto rank = static_cast<std::int64_t>(dims.size());
  auto place = [&](std::int64_t at) { return std::clamp(at < 0 ? at + rank : at, std::int64_t{0}, rank); };
  const std::int64_t start = place(c.integer("start", 0)), end = place(c.integer("end", rank));
  const Ints part = start < end ? Ints(dims.begin() + start, dims.begin() + end) : Ints{};
  return {constant_data({static_cast<std::int64_t>(part.size())}, part)};
}

Results convert_size(Context& c) {
  c.require_inputs(1, 1);
  return {constant_data({}, Ints{c.shape(0).numel()})};
}

Results convert_constant_of_shape(Context& c) {
  const Ints dims = c.known_integers(0);
  if (dims.size() > Shape::kMaxRank) c.unsupported(fmt::format("a tensor of {} dimensions", dims.size()));
  std::int64_t elements = 1;
  for (std::int64_t d : dims)
    if (d < 0 || __builtin_mul_overflow(elements, std::max<std::int64_t>(d, 1), &elements))
      c.invalid(fmt::format("a tensor of [{}]", fmt::join(dims, ",")));
  if (!c.has("value")) return {repeated_constant(Shape(dims), DType::f32, 0)};
  ConstantData value = c.tensor("value");
  if (value.count() != 1) c.invalid("its value is not one element");
  value.type.shape = Shape(dims);
  value.repeated = true;
  return {value};
}

}  // namespace

std::vector<Conversion> core_conversions() {
  return {{"Conv", convert_conv},
          {"MaxPool", convert_max_pool},
          {"Gemm", convert_gemm},
          {"Reshape", convert_reshape},
          {"Constant", convert_constant},
          {"Identity", convert_identity},
          {"Shape", convert_shape},
          {"Size", convert_size},
          {"ConstantOfShape", convert_constant_of_shape}};
}

}  // namespace headroom::onnx
