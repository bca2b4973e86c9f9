#include <cmath>

#include "graph/graph.h"
#include "ops/attention/attention.h"
#include "ops/expect.h"

namespace headroom {
namespace attention_schema_cc {
namespace {

AttentionProblem parse(std::string_view op, const TensorType& qkv, const Attrs& attrs) {
  expect_float(op, qkv);
  expect_rank(op, qkv, 3, "queries, keys and values of shape [batch, time, 3 x heads x width]");
  const std::int64_t heads = attrs.integer("heads", 1), columns = qkv.shape[2];
  if (heads < 1 || columns % (3 * heads) != 0)
    reject(Hint{"the width of the model must be a multiple of the heads"},
           "{}: {} columns are not queries, keys and values of {} heads", op, columns, heads);
  const std::int64_t width = columns / (3 * heads);
  const double scale = attrs.real("scale", 1 / std::sqrt(double(width)));
  if (!std::isfinite(scale)) reject("{}: scale is {}", op, scale);
  return {qkv.shape[0], qkv.shape[1], heads, width, attrs.integer("causal") != 0, scale};
}

TensorType result_of(const AttentionProblem& a, DType dtype) { return {{a.batch, a.time, a.row()}, dtype}; }
TensorType sums_of(const AttentionProblem& a, DType dtype) {
  return {{a.batch, a.heads, a.time}, master_of(dtype)};
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("attention", in, 1);
  const AttentionProblem a = parse("attention", in[0], attrs);
  return {result_of(a, in[0].dtype), sums_of(a, in[0].dtype)};
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  constexpr const char* kOp = "attention_grad";
  expect_inputs(kOp, in, 4);
  const AttentionProblem a = parse(kOp, in[1], attrs);
  for (std::size_t i : {0u, 2u}) expect_same(kOp, in[i], result_of(a, in[1].dtype));
  expect_same(kOp, in[3], sums_of(a, in[1].dtype));
  return {in[1]};
}

// Two products of T x T x D each head, of which a causal one needs the lower half; per score a scaling, the
// maximum, a difference, the sum and the exponential; per row its logarithm and a division each element.
Cost cost(const Problem& p) {
  const AttentionProblem a = attention_problem(p);
  const double heads = double(a.batch * a.heads), scores = heads * double(a.pairs());
  Cost c = traffic(p);
  c.multiply_add = 4 * scores * double(a.width);
  c.other = 4 * scores + heads * double(a.time * a.width);
  c.special = scores + heads * double(a.time);
  return c;
}

// Scores and their gradient again, then dq, dk and dv: five products. Per row the sum of dy * y.
Cost cost_grad(const Problem& p) {
  const AttentionProblem a = attention_problem(p);
  const double heads = double(a.batch * a.heads), scores = heads * double(a.pairs());
  Cost c = traffic(p);
  c.multiply_add = 10 * scores * double(a.width) + 2 * heads * double(a.time * a.width);
  c.other = 5 * scores;
  c.special = scores;
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  if (c.output_gradients[1] != kNone) reject("attention: only its result has a gradient, not its sums");
  return {c.emit("attention_grad", {c.output_gradients[0], c.input(0), c.output(0), c.output(1)}, c.attrs())};
}

}  // namespace
}  // namespace attention_schema_cc

AttentionProblem attention_problem(const Problem& p) {
  using namespace attention_schema_cc;
  return parse(p.op, p.inputs[p.op == "attention_grad" ? 1 : 0], p.attrs);
}

OpSchema attention_schema() {
  using namespace attention_schema_cc;
  return {.name = "attention", .infer = infer, .cost = cost, .gradient = gradient};
}
OpSchema attention_grad_schema() {
  using namespace attention_schema_cc;
  return {.name = "attention_grad", .infer = infer_grad, .cost = cost_grad, .keeps_fp32 = {3}};
}

}  // namespace headroom
