#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/expect.h"
#include "ops/layer_norm/layer_norm.h"

namespace headroom {
namespace layer_norm_schema_cc {
namespace {

// The axes before `axis` with ones for the rest, and the rest.
struct Parts {
  Shape saved, row;
};

Parts parts_of(std::string_view op, const Shape& x, const Attrs& attrs) {
  const auto axis = static_cast<std::size_t>(normalize_axis(op, attrs.integer("axis", -1), x.rank()));
  std::vector<std::int64_t> saved = x.vector(), row(saved.begin() + std::ptrdiff_t(axis), saved.end());
  std::fill(saved.begin() + std::ptrdiff_t(axis), saved.end(), 1);
  return {Shape(saved), Shape(row)};
}

// Scale and bias may be fp32 beside an x of 16 bits.
void expect_row(std::string_view op, const TensorType& given, const TensorType& x, const Shape& row) {
  const bool narrow = x.dtype == DType::f16 || x.dtype == DType::bf16;
  if (given != TensorType{row, x.dtype} && !(narrow && given == TensorType{row, DType::f32}))
    reject("{}: scale and bias of {} are {} of shape {}, not {} of shape {}", op, x.shape.str(),
           name_of(x.dtype), row.str(), name_of(given.dtype), given.shape.str());
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr const char* kOp = "layer_norm";
  expect_inputs(kOp, in, 3);
  expect_float(kOp, in[0]);
  const Parts parts = parts_of(kOp, in[0].shape, attrs);
  expect_row(kOp, in[1], in[0], parts.row);
  expect_row(kOp, in[2], in[0], parts.row);
  expect_same(kOp, in[1], in[2]);
  const double epsilon = attrs.real("epsilon", 1e-5);
  if (!(epsilon >= 0)) reject(Hint{"1e-5 is usual"}, "{}: epsilon is {}", kOp, epsilon);
  const TensorType saved{parts.saved, DType::f64};
  return {in[0], saved, saved};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr const char* kOp = "layer_norm_grad";
  expect_inputs(kOp, in, 5);
  expect_float(kOp, in[1]);
  expect_same(kOp, in[0], in[1]);
  const Parts parts = parts_of(kOp, in[1].shape, attrs);
  expect_row(kOp, in[2], in[1], parts.row);
  for (std::size_t i : {3u, 4u}) expect_same(kOp, in[i], {parts.saved, DType::f64});
  return {in[1], in[2], in[2]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.inputs[0].shape.numel());
  c.multiply_add = 4 * n, c.other = 4 * n;
  c.special = static_cast<double>(layer_norm_problem(p).rows);
  return c;
}

Cost cost_grad(const Problem& p) {
  Cost c = traffic(p);
  const auto n = static_cast<double>(p.inputs[0].shape.numel());
  c.multiply_add = 6 * n, c.other = 5 * n;
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  if (c.output_gradients[0] == kNone) return {kNone, kNone, kNone};
  return c.emit_all("layer_norm_grad",
                    {c.output_gradients[0], c.input(0), c.input(1), c.output(1), c.output(2)}, c.attrs());
}

}  // namespace
}  // namespace layer_norm_schema_cc

LayerNormProblem layer_norm_problem(const Problem& p) {
  const bool backward = p.op == "layer_norm_grad";
  const std::int64_t columns = p.inputs[backward ? 2 : 1].shape.numel();
  return {.rows = p.inputs[0].shape.numel() / columns,
          .columns = columns,
          .epsilon = p.attrs.real("epsilon", 1e-5),
          .backward = backward};
}

OpSchema layer_norm_schema() {
  using namespace layer_norm_schema_cc;
  return {.name = "layer_norm",
          .infer = infer,
          .cost = cost,
          .gradient = gradient,
          .keeps_fp32 = {1, 2},
          .has_products = false};
}
OpSchema layer_norm_grad_schema() {
  using namespace layer_norm_schema_cc;
  return {.name = "layer_norm_grad",
          .infer = infer_grad,
          .cost = cost_grad,
          .keeps_fp32 = {2},
          .has_products = false};
}

}  // namespace headroom
