#include "graph/graph.h"
#include "ops/binary/binary.h"
#include "ops/broadcast.h"
#include "ops/expect.h"

namespace headroom {
namespace binary_schema_cc {
namespace {

void expect_one_dtype(std::string_view op, const std::vector<TensorType>& in) {
  for (const TensorType& type : in) {
    expect_float(op, type);
    if (type.dtype != in[0].dtype)
      reject(Hint{"cast one of them"}, "{}: {} and {} do not mix", op, name_of(in[0].dtype),
             name_of(type.dtype));
  }
}

std::vector<TensorType> infer_named(std::string_view op, const std::vector<TensorType>& in) {
  expect_inputs(op, in, 2);
  const auto is_integer = [](DType dtype) { return dtype == DType::i64 || dtype == DType::i32; };
  if (op == "pow" || in[0].dtype != in[1].dtype || !is_integer(in[0].dtype)) expect_one_dtype(op, in);
  return {{broadcast_shape(op, in[0].shape, in[1].shape), in[0].dtype}};
}

// A schema is a table of plain functions, so each operator needs an `infer` that knows its name.
std::vector<TensorType> infer_add(const std::vector<TensorType>& in, const Attrs&) {
  return infer_named("add", in);
}
std::vector<TensorType> infer_sub(const std::vector<TensorType>& in, const Attrs&) {
  return infer_named("sub", in);
}
std::vector<TensorType> infer_mul(const std::vector<TensorType>& in, const Attrs&) {
  return infer_named("mul", in);
}
std::vector<TensorType> infer_div(const std::vector<TensorType>& in, const Attrs&) {
  return infer_named("div", in);
}
std::vector<TensorType> infer_pow(const std::vector<TensorType>& in, const Attrs&) {
  return infer_named("pow", in);
}

std::vector<TensorType> infer_maximum(const std::vector<TensorType>& in, const Attrs&) {
  return infer_named("maximum", in);
}
std::vector<TensorType> infer_minimum(const std::vector<TensorType>& in, const Attrs&) {
  return infer_named("minimum", in);
}
std::vector<TensorType> infer_mod(const std::vector<TensorType>& in, const Attrs& attrs) {
  if (const auto how = attrs.integer("fmod"); how != 0 && how != 1)
    reject("mod: fmod is {}, not 0 or 1", how);
  return infer_named("mod", in);
}

std::vector<TensorType> infer_pow_grad(const std::vector<TensorType>& in, const Attrs&) {
  expect_inputs("pow_grad", in, 3);
  expect_one_dtype("pow_grad", in);
  for (const TensorType& type : in)
    if (broadcast_shape("pow_grad", in[0].shape, type.shape) != in[0].shape)
      reject("pow_grad: {} does not stretch to the gradient's {}", type.shape.str(), in[0].shape.str());
  return {in[0]};
}

std::vector<TensorType> infer_bits(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr std::string_view kOp = "an operator on bits";
  expect_inputs(kOp, in, 2);
  for (const TensorType& type : in)
    if ((type.dtype != DType::i64 && type.dtype != DType::i32) || type.dtype != in[0].dtype)
      reject(Hint{"cast both to int64"}, "{} takes two int64 or two int32, not {} and {}", kOp,
             name_of(in[0].dtype), name_of(in[1].dtype));
  if (const auto how = attrs.integer("logical"); how != 0 && how != 1)
    reject("shift_right: logical is {}, not 0 or 1", how);
  return {{broadcast_shape(kOp, in[0].shape, in[1].shape), in[0].dtype}};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.outputs[0].shape.numel());
  (p.op == "pow" ? c.special : c.other) = n;
  return c;
}

Cost cost_pow_grad(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.outputs[0].shape.numel());
  c.other = 2 * n;
  c.special = n;
  return c;
}

// What of dy reaches input i, or kNone where nobody asks.
ValueId back_to(const GradientContext& c, std::size_t i, ValueId gradient) {
  return sum_to(c, gradient, c.graph.value(c.input(i)).type.shape);
}

std::vector<ValueId> gradient_add(const GradientContext& c) {
  const ValueId dy = c.output_gradients[0];
  return {c.needed[0] ? back_to(c, 0, dy) : kNone, c.needed[1] ? back_to(c, 1, dy) : kNone};
}

std::vector<ValueId> gradient_sub(const GradientContext& c) {
  const ValueId dy = c.output_gradients[0];
  return {c.needed[0] ? back_to(c, 0, dy) : kNone, c.needed[1]
                                                       ? c.emit("neg", {back_to(c, 1, dy)})
                                                       : kNone};  // the sum first: it is the smaller tensor
}

std::vector<ValueId> gradient_mul(const GradientContext& c) {
  const ValueId dy = c.output_gradients[0];
  return {c.needed[0] ? back_to(c, 0, c.emit("mul", {dy, c.input(1)})) : kNone,
          c.needed[1] ? back_to(c, 1, c.emit("mul", {dy, c.input(0)})) : kNone};
}

std::vector<ValueId> gradient_div(const GradientContext& c) {
  const ValueId share = c.emit("div", {c.output_gradients[0], c.input(1)});
  return {c.needed[0] ? back_to(c, 0, share) : kNone,
          c.needed[1] ? c.emit("neg", {back_to(c, 1, c.emit("mul", {share, c.output(0)}))}) : kNone};
}

std::vector<ValueId> gradient_pow(const GradientContext& c) {
  const ValueId dy = c.output_gradients[0], x = c.input(0);
  return {c.needed[0] ? back_to(c, 0, c.emit("pow_grad_base", {dy, x, c.input(1)})) : kNone,
          c.needed[1] ? back_to(c, 1, c.emit("pow_grad_exponent", {dy, x, c.output(0)})) : kNone};
}

// dy where the operand was taken.
std::vector<ValueId> gradient_extreme(const GradientContext& c) {
  const std::string op = c.graph.node(c.node).op == "maximum" ? "greater_or_equal" : "less_or_equal";
  const ValueId first = c.emit(op, {c.input(0), c.input(1)});
  const auto side = [&](std::size_t i, const std::string& name) {
    if (!c.needed[i]) return kNone;
    return back_to(c, i, c.emit("where_grad", {first, c.output_gradients[0]}, {{"side", name}}));
  };
  const ValueId da = side(0, "a");
  return {da, side(1, "b")};
}

}  // namespace
}  // namespace binary_schema_cc

OpSchema binary_schema(const std::string& name) {
  using namespace binary_schema_cc;
  OpSchema schema{.name = name, .infer = infer_add, .cost = cost, .gradient = gradient_add, .elementwise = 2};
  schema.layer = name == "add" || name == "sub" || name == "mul" || name == "div";
  schema.onnx = name == "add"       ? "Add"
                : name == "sub"     ? "Sub"
                : name == "mul"     ? "Mul"
                : name == "div"     ? "Div"
                : name == "pow"     ? "Pow"
                : name == "maximum" ? "Max"
                : name == "minimum" ? "Min"
                                    : "";
  if (name == "sub") schema.infer = infer_sub, schema.gradient = gradient_sub;
  if (name == "mul") schema.infer = infer_mul, schema.gradient = gradient_mul;
  if (name == "div") schema.infer = infer_div, schema.gradient = gradient_div;
  if (name == "pow") schema.infer = infer_pow, schema.gradient = gradient_pow;
  if (name == "maximum") schema.infer = infer_maximum, schema.gradient = gradient_extreme;
  if (name == "minimum") schema.infer = infer_minimum, schema.gradient = gradient_extreme;
  if (name == "mod") schema.infer = infer_mod, schema.gradient = nullptr;
  return schema;
}

OpSchema bits_schema(const std::string& name) {
  using namespace binary_schema_cc;
  return {.name = name, .infer = infer_bits, .cost = cost, .elementwise = 2, .onnx_opset = 18};
}

OpSchema pow_grad_schema(const std::string& name) {
  using namespace binary_schema_cc;
  return {.name = name, .infer = infer_pow_grad, .cost = cost_pow_grad};
}

}  // namespace headroom
