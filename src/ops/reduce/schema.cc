#include <algorithm>
#include <numeric>

#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/broadcast.h"
#include "ops/expect.h"
#include "ops/reduce/reduce.h"

namespace headroom {
namespace reduce_schema_cc {
namespace {

Shape reduced_shape(const ReduceProblem& r, const Attrs& attrs) {
  if (attrs.integer("keepdims", 1) != 0) return r.kept;
  std::vector<std::int64_t> dims;
  for (int axis = 0; axis < r.input.rank(); ++axis)
    if (!std::binary_search(r.axes.begin(), r.axes.end(), axis)) dims.push_back(r.input[axis]);
  return Shape(dims);
}

std::vector<TensorType> infer_any(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("a reduction", in, 1);
  if (const auto keep = attrs.integer("keepdims", 1); keep != 0 && keep != 1)
    reject("a reduction: keepdims is {}, not 0 or 1", keep);
  return {{reduced_shape(reduce_problem("a reduction", in[0].shape, attrs), attrs), in[0].dtype}};
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("a reduction", in, 1);
  expect_float("a reduction", in[0]);
  return infer_any(in, attrs);
}

// Means of integers would need a rule for rounding.
std::vector<TensorType> infer_number(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("a reduction", in, 1);
  const bool is_integer = in[0].dtype == DType::i64 || in[0].dtype == DType::i32;
  return is_integer ? infer_any(in, attrs) : infer(in, attrs);
}

std::vector<TensorType> infer_max_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("reduce_max_grad", in, 3);
  const TensorType y = infer({in[1]}, attrs)[0];
  expect_same("reduce_max_grad", in[0], y);
  expect_same("reduce_max_grad", in[2], y);
  return {in[1]};
}

std::vector<TensorType> infer_expand(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("expand", in, 1);
  if (!is_float(in[0].dtype) && attrs.real("scale", 1) != 1)
    reject("expand: only floating point can be scaled, not {}", name_of(in[0].dtype));
  if (!attrs.has("shape")) reject("expand needs 'shape'");
  const Shape shape(attrs.integers("shape"));
  for (std::int64_t d : shape.dims())
    if (d < 1) reject("expand to {}, which has no elements", shape.str());
  return {{broadcast_shape("expand", in[0].shape, shape), in[0].dtype}};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

Cost cost_max_grad(const Problem& p) {
  Cost c = traffic(p);
  c.other = 2 * static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

Cost cost_expand(const Problem& p) {
  Cost c = traffic(p);
  if (p.attrs.real("scale", 1) != 1) c.other = static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient_sum(const GradientContext& c) {
  const Shape shape = c.graph.value(c.input(0)).type.shape;
  const std::string op = c.graph.node(c.node).op;
  const ReduceProblem r = reduce_problem(op, shape, c.attrs());
  ValueId dy = c.output_gradients[0];
  if (c.graph.value(dy).type.shape != r.kept) dy = c.emit("reshape", {dy}, {{"shape", r.kept.vector()}});
  Attrs attrs{{"shape", shape.vector()}};
  if (op == "reduce_mean") attrs.set("scale", 1 / static_cast<double>(r.count));
  return {c.emit("expand", {dy}, attrs)};
}

std::vector<ValueId> gradient_max(const GradientContext& c) {
  return {c.emit("reduce_max_grad", {c.output_gradients[0], c.input(0), c.output(0)}, c.attrs())};
}

std::vector<ValueId> gradient_expand(const GradientContext& c) {
  const Shape shape = c.graph.value(c.input(0)).type.shape;
  const ValueId dx = sum_to(c, c.output_gradients[0], shape);
  if (c.attrs().real("scale", 1) == 1) return {dx};
  return {c.emit("expand", {dx}, {{"shape", shape.vector()}, {"scale", c.attrs().real("scale")}})};
}

}  // namespace
}  // namespace reduce_schema_cc

ReduceProblem reduce_problem(std::string_view op, const Shape& input, const Attrs& attrs) {
  ReduceProblem r{
      .input = input, .kept = input, .axes = normalize_axes(op, attrs.integers("axes"), input.rank())};
  if (r.axes.empty()) {
    r.axes.resize(static_cast<std::size_t>(input.rank()));
    std::iota(r.axes.begin(), r.axes.end(), std::int64_t{0});
  }
  std::sort(r.axes.begin(), r.axes.end());
  for (std::int64_t axis : r.axes) {
    r.count *= input[static_cast<int>(axis)];
    r.kept[static_cast<int>(axis)] = 1;
  }
  return r;
}

ReduceProblem reduce_problem(const Problem& p) {
  return reduce_problem(p.op, p.inputs[p.op == "reduce_max_grad" ? 1 : 0].shape, p.attrs);
}

OpSchema reduce_schema(const std::string& name) {
  using namespace reduce_schema_cc;
  return {.name = name,
          .infer = name == "reduce_mean" ? infer : infer_number,
          .cost = cost,
          .gradient = name == "reduce_max" ? gradient_max : gradient_sum};
}
OpSchema reduce_max_grad_schema() {
  using namespace reduce_schema_cc;
  return {.name = "reduce_max_grad", .infer = infer_max_grad, .cost = cost_max_grad};
}
OpSchema expand_schema() {
  using namespace reduce_schema_cc;
  return {.name = "expand", .infer = infer_expand, .cost = cost_expand, .gradient = gradient_expand};
}

}  // namespace headroom
