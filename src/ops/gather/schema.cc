#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/expect.h"
#include "ops/gather/gather.h"

namespace headroom {
namespace gather_schema_cc {
namespace {

using Integers = std::vector<std::int64_t>;

std::int64_t axis_of(std::string_view op, const Shape& data, const Attrs& attrs) {
  return normalize_axis(op, attrs.integer("axis"), data.rank());
}

TensorType gathered(std::string_view op, const TensorType& data, const TensorType& indices,
                    const Attrs& attrs) {
  if (indices.dtype != DType::i32 && indices.dtype != DType::i64)
    reject("{}: indices are int32 or int64, not {}", op, name_of(indices.dtype));
  const std::int64_t axis = axis_of(op, data.shape, attrs);
  Integers dims = data.shape.vector();
  const Integers chosen = indices.shape.vector();
  dims.erase(dims.begin() + axis);
  dims.insert(dims.begin() + axis, chosen.begin(), chosen.end());
  return {Shape(dims), data.dtype};
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("gather", in, 2);
  return {gathered("gather", in[0], in[1], attrs)};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("gather_grad", in, 2);
  expect_float("gather_grad", in[0]);
  const TensorType data{Shape(attrs.integers("input_shape")), in[0].dtype};
  expect_not_empty("gather_grad", {data});
  expect_same("gather_grad", in[0], gathered("gather_grad", data, in[1], attrs));
  return {data};
}

// No more of the data is read than is taken.
Cost cost(const Problem& p) {
  Cost c;
  c.bytes_written = static_cast<double>(p.outputs[0].bytes());
  c.bytes_read = c.bytes_written + static_cast<double>(p.inputs[1].bytes());
  return c;
}

Cost cost_grad(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("input_shape", c.graph.value(c.input(0)).type.shape.vector());
  return {c.emit("gather_grad", {c.output_gradients[0], c.input(1)}, std::move(attrs)), kNone};
}

}  // namespace
}  // namespace gather_schema_cc

GatherSizes gather_sizes(const Problem& p) {
  using namespace gather_schema_cc;
  const bool grad = p.op == "gather_grad";
  const Shape& data = grad ? p.outputs[0].shape : p.inputs[0].shape;
  const int axis = static_cast<int>(axis_of(p.op, data, p.attrs));
  GatherSizes g{
      .op = grad ? "gather_grad" : "gather", .extent = data[axis], .count = p.inputs[1].shape.numel()};
  for (int a = 0; a < axis; ++a) g.outer *= data[a];
  for (int a = axis + 1; a < data.rank(); ++a) g.inner *= data[a];
  return g;
}

OpSchema gather_schema() {
  using namespace gather_schema_cc;
  return {.name = "gather", .infer = infer, .cost = cost, .gradient = gradient};
}
OpSchema gather_grad_schema() {
  using namespace gather_schema_cc;
  return {.name = "gather_grad", .infer = infer_grad, .cost = cost_grad};
}

}  // namespace headroom
