#include <cmath>

#include "graph/graph.h"
#include "ops/expect.h"
#include "ops/gemm/gemm.h"

namespace headroom {
namespace gemm_schema_cc {
namespace {

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs("gemm", in, in.size() == 3 ? 3 : 2);
  expect_float("gemm", in[0]);
  const GemmProblem p = gemm_problem(in, attrs);
  if (in[0].dtype != in[1].dtype) reject("gemm of {} and {}", name_of(in[0].dtype), name_of(in[1].dtype));
  const TensorType out{{p.m, p.n}, in[0].dtype};
  if (in.size() == 3) expect_same("gemm", in[2], out);
  if (p.adds() && in.size() == 2)
    reject(Hint{"give c, or set beta to 0"}, "gemm: beta is {}, but there is no c to add", p.beta);
  return {out};
}

Cost cost(const Problem& problem) {
  const GemmProblem p = gemm_problem(problem.inputs, problem.attrs);
  const double outputs = double(p.m) * double(p.n);
  Cost c = traffic(problem);
  if (problem.inputs.size() == 3 && !p.adds()) c.bytes_read -= double(problem.inputs[2].bytes());
  c.multiply_add = 2 * outputs * double(p.k);
  c.other = (p.alpha == 1 ? 0 : outputs) + (p.adds() ? 2 * outputs : 0);
  return c;
}

// Each gradient is again a product, read with the transpositions that undo op.
std::vector<ValueId> gradient(const GradientContext& c) {
  const GemmProblem p = gemm_problem(c.graph.problem(c.node).inputs, c.attrs());
  const ValueId a = c.input(0), b = c.input(1), dy = c.output_gradients[0];
  auto product = [&](ValueId x, bool tx, ValueId y, bool ty) {
    return c.emit(
        "gemm", {x, y},
        {{"trans_a", std::int64_t{tx}}, {"trans_b", std::int64_t{ty}}, {"alpha", p.alpha}, {"beta", 0.0}});
  };
  std::vector<ValueId> list(c.needed.size(), kNone);
  if (c.needed[0]) list[0] = p.trans_a ? product(b, p.trans_b, dy, true) : product(dy, false, b, !p.trans_b);
  if (c.needed[1]) list[1] = p.trans_b ? product(dy, true, a, p.trans_a) : product(a, !p.trans_a, dy, false);
  if (c.needed.size() == 3 && c.needed[2] && p.adds())
    list[2] = c.emit("expand", {dy}, {{"shape", Shape{p.m, p.n}.vector()}, {"scale", p.beta}});
  return list;
}

}  // namespace
}  // namespace gemm_schema_cc

GemmProblem gemm_problem(const std::vector<TensorType>& in, const Attrs& attrs) {
  const Shape a = in.at(0).shape, b = in.at(1).shape;
  const bool ta = attrs.integer("trans_a") != 0, tb = attrs.integer("trans_b") != 0;
  expect_rank("gemm", in[0], 2, "[M, K]");
  expect_rank("gemm", in[1], 2, "[K, N]");
  const GemmProblem p{.trans_a = ta,
                      .trans_b = tb,
                      .m = a[ta ? 1 : 0],
                      .n = b[tb ? 0 : 1],
                      .k = a[ta ? 0 : 1],
                      .lda = a[1],
                      .ldb = b[1],
                      .alpha = attrs.real("alpha", 1),
                      .beta = attrs.real("beta", 0)};
  if (p.k != b[tb ? 1 : 0])
    reject("gemm of {}{} and {}{}: {} columns do not match {} rows", a.str(), ta ? " transposed" : "",
           b.str(), tb ? " transposed" : "", p.k, b[tb ? 1 : 0]);
  for (const auto& [name, value] : {std::pair{"alpha", p.alpha}, {"beta", p.beta}})
    if (!std::isfinite(value)) reject("gemm: {} is {}; it must be a finite number", name, value);
  return p;
}

OpSchema gemm_schema() {
  using namespace gemm_schema_cc;
  return {.name = "gemm", .infer = infer, .cost = cost, .gradient = gradient};
}

}  // namespace headroom
