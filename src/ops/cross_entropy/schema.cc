#include "graph/graph.h"
#include "ops/cross_entropy/cross_entropy.h"
#include "ops/expect.h"

namespace headroom {
namespace cross_entropy_schema_cc {
namespace {

void expect_batch(const Attrs& attrs) {
  if (const auto batch = attrs.integer("global_batch"); batch < 0)
    reject("cross_entropy: a global batch of {} rows", batch);
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("cross_entropy", in, 2);
  expect_labels("cross_entropy", in[0], in[1]);
  expect_batch(attrs);
  std::vector<TensorType> out = {{{1}, in[0].dtype}, in[0]};
  if (counts_correct(attrs)) out.push_back({{1}, in[0].dtype});
  return out;
}

std::vector<TensorType> infer_grad(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("cross_entropy_grad", in, 3);
  expect_labels("cross_entropy_grad", in[1], in[2]);
  expect_same("cross_entropy_grad", in[0], {{1}, in[1].dtype});
  expect_batch(attrs);
  return {in[1]};
}

Cost cost(const Problem& p) {
  Cost c = traffic(p);
  const auto [rows, classes, batch] = cross_entropy_problem(p);
  const auto n = static_cast<double>(rows * classes);
  c.other = 4 * n + 2 * static_cast<double>(rows);
  if (counts_correct(p.attrs)) c.other += n;
  c.special = n + static_cast<double>(rows);
  return c;
}

Cost cost_grad(const Problem& p) {
  Cost c = traffic(p);
  c.other = 2 * static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  if (c.output_gradients[1] != kNone)
    reject(Hint{"take the probabilities from a softmax of their own"},
           "cross_entropy: only the loss has a gradient, not the probabilities");
  Attrs attrs;
  if (c.attrs().has("global_batch")) attrs.set("global_batch", c.attrs().integer("global_batch"));
  return {c.emit("cross_entropy_grad", {c.output_gradients[0], c.output(1), c.input(1)}, attrs), kNone};
}

}  // namespace
}  // namespace cross_entropy_schema_cc

CrossEntropyProblem cross_entropy_problem(const Problem& p) {
  const Shape& scores = p.inputs[p.op == "cross_entropy" ? 0 : 1].shape;
  const std::int64_t batch = p.attrs.integer("global_batch");
  return {
      .rows = scores[0], .classes = scores[1], .batch = static_cast<double>(batch > 0 ? batch : scores[0])};
}

bool counts_correct(const Attrs& attrs) { return attrs.integer("correct") != 0; }

Launcher then_count(Launcher loss, const Problem& p, const LaunchContext& context,
                    Launcher (*prepare_count)(const Problem&, const LaunchContext&)) {
  if (!counts_correct(p.attrs)) return loss;
  return [loss = std::move(loss), count = prepare_count(p, context)](const LaunchArgs& a) {
    loss(a);
    count({a.inputs, a.outputs + 2, nullptr, a.stream});
  };
}

OpSchema cross_entropy_schema() {
  using namespace cross_entropy_schema_cc;
  return {.name = "cross_entropy", .infer = infer, .cost = cost, .gradient = gradient};
}
OpSchema cross_entropy_grad_schema() {
  using namespace cross_entropy_schema_cc;
  return {.name = "cross_entropy_grad", .infer = infer_grad, .cost = cost_grad};
}

}  // namespace headroom
