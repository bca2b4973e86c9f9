#include "graph/graph.h"
#include "ops/axes.h"
#include "ops/expect.h"
#include "ops/softmax/softmax.h"

namespace headroom {
namespace softmax_schema_cc {
namespace {

void expect_axis(std::string_view op, const TensorType& x, const Attrs& attrs) {
  expect_float(op, x);
  if (x.shape.rank() < 1) reject("{} needs an axis to run along, not a scalar", op);
  normalize_axis(op, attrs.integer("axis", -1), x.shape.rank());
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("softmax", in, 1);
  expect_axis("softmax", in[0], attrs);
  return {in[0]};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("softmax_grad", in, 2);
  expect_axis("softmax_grad", in[0], attrs);
  expect_same("softmax_grad", in[0], in[1]);
  return {in[1]};
}

Cost cost(const Problem& problem) {
  const SoftmaxProblem p = softmax_problem(problem);
  Cost c = traffic(problem);
  const auto n = static_cast<double>(p.rows() * p.length);
  if (!p.backward) {
    c.other = (p.log ? 3 : 4) * n;  // maximum, difference, sum, division
    c.special = n + (p.log ? static_cast<double>(p.rows()) : 0);
  } else if (p.log) {
    c.multiply_add = 2 * n;
    c.other = n;
    c.special = n;
  } else {
    c.multiply_add = 2 * n;
    c.other = 2 * n;
  }
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  return {c.emit(c.graph.node(c.node).op + "_grad", {c.output_gradients[0], c.output(0)}, c.attrs())};
}

}  // namespace
}  // namespace softmax_schema_cc

SoftmaxProblem softmax_problem(const Problem& p) {
  const Shape& shape = p.inputs[0].shape;
  const std::int64_t axis = normalize_axis(p.op, p.attrs.integer("axis", -1), shape.rank());
  SoftmaxProblem s{.log = p.op.starts_with("log_"), .backward = p.op.ends_with("_grad")};
  for (int k = 0; k < shape.rank(); ++k) (k < axis ? s.outer : k > axis ? s.inner : s.length) *= shape[k];
  return s;
}

OpSchema softmax_schema(const std::string& name) {
  using namespace softmax_schema_cc;
  const bool backward = name.ends_with("_grad");
  return {.name = name,
          .infer = backward ? infer_grad : infer,
          .cost = cost,
          .gradient = backward ? nullptr : gradient,
          .layer = !backward,
          .has_products = false};
}

}  // namespace headroom
