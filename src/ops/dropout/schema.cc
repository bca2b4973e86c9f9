#include <cmath>

#include "base/random.h"
#include "graph/graph.h"
#include "ops/dropout/dropout.h"
#include "ops/expect.h"

namespace headroom {
namespace dropout_schema_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("dropout", in, 2);
  expect_float("dropout", in[0]);
  expect_same("dropout, its step", in[1], {{1}, DType::f64});
  if (const double rate = attrs.real("rate"); !(rate >= 0 && rate < 1))
    reject(Hint{"the share of elements to drop, from 0 to less than 1"}, "dropout: rate is {}", rate);
  if (attrs.integer("first") < 0) reject("dropout: first is {}", attrs.integer("first"));
  return {in[0]};
}

// Ten rounds of two products and four other operations for each four elements: what the generator takes.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = 17 * static_cast<double>(p.outputs[0].shape.numel());
  return c;
}

std::vector<ValueId> gradient(const GradientContext& c) {
  return {c.emit("dropout", {c.output_gradients[0], c.input(1)}, c.attrs()), kNone};
}

}  // namespace
}  // namespace dropout_schema_cc

std::uint64_t DropoutProblem::threshold() const {
  return static_cast<std::uint64_t>(std::llround(std::ldexp(rate, 32)));
}

std::uint64_t DropoutProblem::stream(double step) const {
  return stream_of(static_cast<std::uint64_t>(step), key);
}

DropoutProblem dropout_problem(const Problem& p) {
  return {.n = p.inputs[0].shape.numel(),
          .first = p.attrs.integer("first"),
          .rate = p.attrs.real("rate"),
          .seed = static_cast<std::uint64_t>(p.attrs.integer("seed")),
          .key = static_cast<std::uint64_t>(p.attrs.integer("key"))};
}

OpSchema dropout_schema() {
  using namespace dropout_schema_cc;
  return {.name = "dropout", .infer = infer, .cost = cost, .gradient = gradient};
}

}  // namespace headroom
