#include <algorithm>

#include "graph/graph.h"
#include "ops/broadcast.h"
#include "ops/expect.h"
#include "ops/matmul/matmul.h"

namespace headroom {
namespace matmul_schema_cc {
namespace {

using Integers = std::vector<std::int64_t>;

// A vector as the matrix it stands for.
Shape as_matrices(const Shape& shape, bool is_row) {
  if (shape.rank() != 1) return shape;
  return is_row ? Shape{1, shape[0]} : Shape{shape[0], 1};
}

Shape batch_of(const Shape& shape) {
  return Shape(shape.dims().first(static_cast<std::size_t>(shape.rank() - 2)));
}

// Offset of each product's matrix among those of one operand, whose batch axes of 1 are used again and again.
Integers offsets(const Shape& batch, const Shape& own, std::int64_t matrix) {
  Integers list;
  for (std::int64_t i = 0; i < batch.numel(); ++i) list.push_back(broadcast_index(batch, own, i) * matrix);
  return list;
}

ValueId reshaped(const GradientContext& c, ValueId value, const Shape& shape) {
  if (c.graph.value(value).type.shape == shape) return value;
  return c.emit("reshape", {value}, {{"shape", shape.vector()}});
}

// All matrices one below the other.
ValueId folded(const GradientContext& c, ValueId value) {
  const Shape shape = c.graph.value(value).type.shape;
  const std::int64_t columns = shape[shape.rank() - 1];
  return reshaped(c, value, {shape.numel() / columns, columns});
}

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  const bool slope = matmul_slope(attrs) != Activation::none;
  expect_inputs("matmul", in, slope ? 3 : 2);
  expect_float("matmul", in[0]);
  if (in[0].dtype != in[1].dtype) reject("matmul of {} and {}", name_of(in[0].dtype), name_of(in[1].dtype));
  const MatmulProblem p = matmul_problem(in, attrs);
  std::vector<std::int64_t> dims = p.batch.vector();
  if (in[0].shape.rank() > 1) dims.push_back(p.m);
  if (in[1].shape.rank() > 1) dims.push_back(p.n);
  const TensorType c{Shape(dims), in[0].dtype};
  if (slope) expect_same("matmul", in[2], c);
  return {c};
}

Cost cost(const Problem& problem) {
  const MatmulProblem p = matmul_problem(problem.inputs, problem.attrs);
  Cost c = traffic(problem);
  c.multiply_add = 2.0 * double(p.count()) * double(p.m) * double(p.n) * double(p.k);
  if (const Activation slope = matmul_slope(problem.attrs); slope != Activation::none)
    c.other = (slope == Activation::relu ? 1.0 : 3.0) * double(problem.outputs[0].shape.numel());
  return c;
}

// C = op(A) op(B); each gradient is again a product, read with the transpositions that undo op, and summed
// over the matrices that one operand was used for.
std::vector<ValueId> gradient(const GradientContext& c) {
  if (c.attrs().has("activation_grad")) fail("fused nodes come after differentiation");
  const bool ta = c.attrs().integer("trans_a") != 0, tb = c.attrs().integer("trans_b") != 0;
  const Shape shape_a = c.graph.value(c.input(0)).type.shape, shape_b = c.graph.value(c.input(1)).type.shape;
  const Shape full_a = as_matrices(shape_a, true), full_b = as_matrices(shape_b, false);
  const MatmulProblem p = matmul_problem(c.graph.problem(c.node).inputs, c.attrs());
  Integers full = p.batch.vector();
  full.insert(full.end(), {p.m, p.n});
  const ValueId a = reshaped(c, c.input(0), full_a), b = reshaped(c, c.input(1), full_b),
                dc = reshaped(c, c.output_gradients[0], Shape(full));
  auto product = [&](ValueId x, bool tx, ValueId y, bool ty) {
    return c.emit("matmul", {x, y}, {{"trans_a", std::int64_t{tx}}, {"trans_b", std::int64_t{ty}}});
  };
  ValueId da = kNone, db = kNone;
  if (c.needed[0]) {
    da = ta ? product(b, tb, dc, true) : product(dc, false, b, !tb);
    da = reshaped(c, sum_to(c, da, full_a), shape_a);
  }
  if (c.needed[1]) {
    // A sum of products over the batch is one product of the matrices one below the other.
    const bool fold = p.folds();
    const ValueId left = fold ? folded(c, a) : a, right = fold ? folded(c, dc) : dc;
    db = tb ? product(right, true, left, ta) : product(left, !ta, right, false);
    db = reshaped(c, fold ? db : sum_to(c, db, full_b), shape_b);
  }
  return {da, db};
}

}  // namespace
}  // namespace matmul_schema_cc

bool MatmulProblem::folds() const {
  const bool one_b = std::all_of(b.begin(), b.end(), [](std::int64_t at) { return at == 0; });
  bool each_a = true;
  for (std::size_t i = 0; i < a.size(); ++i) each_a &= a[i] == static_cast<std::int64_t>(i) * m * k;
  return !trans_a && one_b && each_a;
}

MatmulProblem matmul_problem(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace matmul_schema_cc;
  const Shape a = as_matrices(in.at(0).shape, true), b = as_matrices(in.at(1).shape, false);
  const bool ta = attrs.integer("trans_a") != 0, tb = attrs.integer("trans_b") != 0;
  const std::string what = fmt::format("matmul of {}{} and {}{}", in[0].shape.str(), ta ? " transposed" : "",
                                       in[1].shape.str(), tb ? " transposed" : "");
  if (a.rank() < 2 || b.rank() < 2) reject("{}: a scalar is not a matrix", what);
  if ((ta && in[0].shape.rank() == 1) || (tb && in[1].shape.rank() == 1))
    reject("{}: a vector cannot be transposed", what);
  const std::int64_t a_rows = a[a.rank() - 2], a_columns = a[a.rank() - 1], b_rows = b[b.rank() - 2],
                     b_columns = b[b.rank() - 1];
  MatmulProblem p{.trans_a = ta,
                  .trans_b = tb,
                  .m = ta ? a_columns : a_rows,
                  .n = tb ? b_rows : b_columns,
                  .k = ta ? a_rows : a_columns,
                  .lda = a_columns,
                  .ldb = b_columns,
                  .batch = broadcast_shape("matmul", batch_of(a), batch_of(b)),
                  .a = {},
                  .b = {}};
  if (p.k != (tb ? b_columns : b_rows))
    reject("{}: {} columns do not match {} rows", what, p.k, tb ? b_columns : b_rows);
  p.a = offsets(p.batch, batch_of(a), p.m * p.k);
  p.b = offsets(p.batch, batch_of(b), p.k * p.n);
  return p;
}

Activation matmul_slope(const Attrs& attrs) {
  const auto slope = parse_activation(attrs.text("activation_grad"));
  if (!slope) reject("matmul cannot fuse the gradient of '{}'", attrs.text("activation_grad"));
  return *slope;
}

OpSchema matmul_schema() {
  using namespace matmul_schema_cc;
  return {.name = "matmul", .infer = infer, .cost = cost, .gradient = gradient};
}

}  // namespace headroom
