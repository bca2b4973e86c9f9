#include <algorithm>

#include "graph/graph.h"
#include "ops/expect.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace pool_schema_cc {
namespace {

Window2d window_of(const Attrs& attrs, const Shape& input) {
  const auto kernel = attrs.integers("kernel");
  if (kernel.size() != 2)
    reject(Hint{"kernel=[2,2] pools by two"}, "a pool needs 'kernel' with two entries, not {}",
           kernel.size());
  return parse_window(attrs, input, kernel[0], kernel[1], DefaultStride::kernel);
}

Shape pooled(std::string_view op, const Attrs& attrs, const TensorType& x) {
  expect_float(op, x);
  expect_rank(op, x, 4, "NCHW");
  const Window2d w = window_of(attrs, x.shape);
  return {x.shape[0], x.shape[1], w.output.h, w.output.w};
}

void expect_output(std::string_view op, const TensorType& given, const TensorType& x, const Shape& want) {
  expect_same(op, given, {want, x.dtype});
}

std::vector<TensorType> infer_max(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("max_pool", in, 1);
  return {{pooled("max_pool", attrs, in[0]), in[0].dtype}};
}

std::vector<TensorType> infer_avg(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("avg_pool", in, 1);
  return {{pooled("avg_pool", attrs, in[0]), in[0].dtype}};
}

Activation slope_of(const Attrs& attrs) {
  const auto slope = parse_activation(attrs.text("activation_grad"));
  if (!slope) reject("max_pool_grad cannot fuse the gradient of '{}'", attrs.text("activation_grad"));
  return *slope;
}

std::vector<TensorType> infer_max_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("max_pool_grad", in, 3);
  const Shape y = pooled("max_pool_grad", attrs, in[1]);
  expect_output("max_pool_grad", in[0], in[1], y);
  expect_output("max_pool_grad", in[2], in[1], y);
  slope_of(attrs);
  return {in[1]};
}

std::vector<TensorType> infer_avg_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("avg_pool_grad", in, 1);
  const TensorType x{Shape(attrs.integers("input_shape")), in[0].dtype};
  expect_not_empty("avg_pool_grad", {x});
  expect_output("avg_pool_grad", in[0], x, pooled("avg_pool_grad", attrs, x));
  return {x};
}

// One comparison or addition per element of each window, as if none hung over the edge.
double window_elements(const Problem& p) {
  const PoolProblem pool = pool_problem(p);
  const auto outputs = static_cast<double>(pool.planes * pool.output_plane());
  return outputs * static_cast<double>(pool.window.kernel.h * pool.window.kernel.w);
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = window_elements(p);
  return c;
}

Cost cost_mean(const Problem& p) {
  Cost c = cost(p);
  const PoolProblem pool = pool_problem(p);
  c.other += static_cast<double>(pool.planes * pool.output_plane());  // the divisions
  return c;
}

// y is at hand for kernels that look for it in x, but the least that must be read is dy and x.
Cost cost_max_grad(const Problem& p) {
  Cost c = cost(p);
  c.bytes_read -= static_cast<double>(p.inputs[2].bytes());
  if (slope_of(p.attrs) != Activation::none) c.other += static_cast<double>(p.inputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient_max(const GradientContext& c) {
  return {c.emit("max_pool_grad", {c.output_gradients[0], c.input(0), c.output(0)}, c.attrs())};
}

std::vector<ValueId> gradient_avg(const GradientContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("input_shape", c.graph.value(c.input(0)).type.shape.vector());
  return {c.emit("avg_pool_grad", {c.output_gradients[0]}, std::move(attrs))};
}

std::vector<Taps> axis_taps(std::int64_t input, std::int64_t output, std::int64_t kernel, std::int64_t stride,
                            std::int64_t dilation, std::int64_t pad, std::int64_t pad_end, bool include_pad) {
  std::vector<Taps> table;
  for (std::int64_t i = 0; i < output; ++i) {
    const std::int64_t start = i * stride - pad;
    auto taps_before = [&](std::int64_t end) {  // how many of the kernel's elements lie before `end`
      return std::clamp<std::int64_t>((end - start + dilation - 1) / dilation, 0, kernel);
    };
    const std::int64_t skipped = start < 0 ? taps_before(0) : 0;
    const std::int64_t read = std::max<std::int64_t>(0, taps_before(input) - skipped);
    table.push_back({.begin = start + skipped * dilation,
                     .count = read,
                     .shared = include_pad ? taps_before(input + pad_end) : read});
  }
  return table;
}

}  // namespace
}  // namespace pool_schema_cc

PoolProblem pool_problem(const Problem& p) {
  using namespace pool_schema_cc;
  const Shape input = p.op == "max_pool_grad"   ? p.inputs[1].shape
                      : p.op == "avg_pool_grad" ? p.outputs[0].shape
                                                : p.inputs[0].shape;
  return {.planes = input[0] * input[1],
          .window = window_of(p.attrs, input),
          .count_include_pad = p.attrs.integer("count_include_pad") != 0,
          .slope = slope_of(p.attrs)};
}

TapTables tap_tables(const PoolProblem& p) {
  using namespace pool_schema_cc;
  const Window2d& w = p.window;
  return {axis_taps(w.input.h, w.output.h, w.kernel.h, w.stride.h, w.dilation.h, w.pad.h, w.pad_end.h,
                    p.count_include_pad),
          axis_taps(w.input.w, w.output.w, w.kernel.w, w.stride.w, w.dilation.w, w.pad.w, w.pad_end.w,
                    p.count_include_pad)};
}

OpSchema max_pool_schema() {
  using namespace pool_schema_cc;
  return {.name = "max_pool", .infer = infer_max, .cost = cost, .gradient = gradient_max};
}
OpSchema max_pool_grad_schema() {
  using namespace pool_schema_cc;
  return {.name = "max_pool_grad", .infer = infer_max_grad, .cost = cost_max_grad};
}
OpSchema avg_pool_schema() {
  using namespace pool_schema_cc;
  return {.name = "avg_pool", .infer = infer_avg, .cost = cost_mean, .gradient = gradient_avg};
}
OpSchema avg_pool_grad_schema() {
  using namespace pool_schema_cc;
  return {.name = "avg_pool_grad", .infer = infer_avg_grad, .cost = cost_mean};
}

}  // namespace headroom
