#include "ops/classifier_head/classifier_head.h"
#include "ops/expect.h"
#include "ops/fp16_parts/fp16_parts.h"

namespace headroom {
namespace classifier_head_schema_cc {
namespace {

constexpr const char* kName = "classifier_head";

Activation slope_of(const Attrs& attrs) {
  const auto slope = parse_activation(attrs.text("activation_grad"));
  if (!slope) reject("{}: no gradient of activation '{}'", kName, attrs.text("activation_grad"));
  return *slope;
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(kName, in, 4);
  expect_float(kName, in[0]);
  expect_rank(kName, in[0], 2, "rows of shape [B, H]");
  expect_rank(kName, in[1], 2, "weights of shape [C, H]");
  const std::int64_t rows = in[0].shape[0], inputs = in[0].shape[1], classes = in[1].shape[0];
  const DType dtype = in[0].dtype;
  expect_same(kName, in[1], {{classes, inputs}, dtype});
  expect_same(kName, in[2], {{classes}, dtype});
  expect_labels(kName, {{rows, classes}, dtype}, in[3]);
  slope_of(attrs);
  std::vector<TensorType> out = {{{1}, dtype}, {{1}, dtype}, in[0], in[1], in[2], {{inputs}, dtype}};
  const std::int64_t parts = attrs.integer("parts", 0);
  if (parts < 0 || parts > 2) reject("{}: dz in {} parts", kName, parts);
  if (parts > 0) {
    out[2] = parts_type(in[0].shape, static_cast<int>(parts));
    out.push_back({{4}, DType::f32});
  }
  return out;
}

// Of linear, cross_entropy with its count and its gradient, two matmuls and two bias_grads; but what lies
// between them is neither written nor read.
Cost cost(const Problem& problem) {
  const HeadProblem p = head_problem(problem);
  Cost c = traffic(problem);
  const double rows = double(p.rows), scores = rows * double(p.classes), hidden = rows * double(p.inputs);
  c.multiply_add = 3 * 2 * scores * double(p.inputs);
  c.other = scores * (1 + 4 + 1 + 2 + 1) + 2 * rows + hidden;
  if (p.slope != Activation::none) c.other += (p.slope == Activation::relu ? 1 : 3) * hidden;
  c.special = scores + rows;
  return c;
}

}  // namespace
}  // namespace classifier_head_schema_cc

HeadProblem head_problem(const Problem& problem) {
  using namespace classifier_head_schema_cc;
  const Shape &h = problem.inputs.at(0).shape, &w = problem.inputs.at(1).shape;
  return {.rows = h[0],
          .inputs = h[1],
          .classes = w[0],
          .slope = slope_of(problem.attrs),
          .parts = static_cast<int>(problem.attrs.integer("parts", 0)),
          .ld = problem.outputs.at(2).shape[problem.outputs.at(2).shape.rank() - 1]};
}

// The last layer's scores are not kept; there are as many as biases, which are input 2.
OpSchema classifier_head_schema() {
  using namespace classifier_head_schema_cc;
  return {.name = kName, .infer = infer, .cost = cost, .inner_outputs = {2}};
}

}  // namespace headroom
