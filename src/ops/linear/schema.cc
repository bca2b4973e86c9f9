#include "graph/graph.h"
#include "ops/linear/linear.h"

namespace headroom {
namespace linear_schema_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  const LinearProblem l = linear_problem(in, attrs);
  TensorType y = in[0];
  y.shape[y.shape.rank() - 1] = l.out;
  return {y};
}

Cost cost(const Problem& p) {
  const LinearProblem l = linear_problem(p.inputs, p.attrs);
  Cost c = traffic(p);
  const double outputs = double(l.rows) * double(l.out);
  c.multiply_add = 2 * outputs * double(l.in);
  c.other = l.bias ? outputs : 0;
  if (l.activation != Activation::none) (l.activation == Activation::relu ? c.other : c.special) += outputs;
  return c;
}

// All axes but the last as one: a view.
ValueId as_rows(const GradientContext& c, ValueId value) {
  const Shape shape = c.graph.value(value).type.shape;
  if (shape.rank() == 2) return value;
  return c.emit("reshape", {value}, {{"shape", std::vector<std::int64_t>{-1, shape[shape.rank() - 1]}}});
}

std::vector<ValueId> gradient(const GradientContext& c) {
  if (c.attrs().has("activation")) fail("fused nodes come after differentiation");
  const Shape shape = c.graph.value(c.input(0)).type.shape;
  const ValueId dy = as_rows(c, c.output_gradients[0]);
  std::vector<ValueId> gradients = {kNone, kNone};
  if (c.needed[0]) {
    gradients[0] = c.emit("matmul", {dy, c.input(1)});
    if (shape.rank() > 2) gradients[0] = c.emit("reshape", {gradients[0]}, {{"shape", shape.vector()}});
  }
  if (c.needed[1])
    gradients[1] = c.emit("matmul", {dy, as_rows(c, c.input(0))}, {{"trans_a", std::int64_t{1}}});
  if (c.needed.size() > 2) gradients.push_back(c.needed[2] ? c.emit("bias_grad", {dy}) : kNone);
  return gradients;
}

}  // namespace
}  // namespace linear_schema_cc

LinearProblem linear_problem(const std::vector<TensorType>& in, const Attrs& attrs) {
  const Shape &x = in.at(0).shape, &w = in.at(1).shape;
  if (x.rank() < 2 || w.rank() != 2)
    reject("linear takes rows and a matrix of weights, not {} and {}", x.str(), w.str());
  const std::int64_t inputs = x[x.rank() - 1];
  if (inputs != w[1]) reject("linear of {} inputs with weights for {}", inputs, w[1]);
  if (in.size() > 2 && in[2].shape != Shape{w[0]})
    reject("linear with {} outputs and bias {}", w[0], in[2].shape.str());
  const auto activation = parse_activation(attrs.text("activation"));
  if (!activation) reject("linear cannot fuse activation '{}'", attrs.text("activation"));
  return {x.numel() / inputs, inputs, w[0], in.size() > 2, *activation};
}

OpSchema linear_schema() {
  using namespace linear_schema_cc;
  return {.name = "linear", .infer = infer, .cost = cost, .gradient = gradient};
}

}  // namespace headroom
