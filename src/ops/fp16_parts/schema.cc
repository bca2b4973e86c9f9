#include "ops/expect.h"
#include "ops/fp16_parts/fp16_parts.h"

namespace headroom {
namespace fp16_parts_schema_cc {
namespace {

constexpr const char *kParts = "fp16_parts", *kProduct = "parts_product";

std::int64_t last(const Shape& shape) { return shape[shape.rank() - 1]; }

int count_of(const Attrs& attrs) {
  const std::int64_t parts = attrs.integer("parts", 2);
  if (parts != 1 && parts != 2) reject("{} makes 1 or 2 parts, not {}", kParts, parts);
  return static_cast<int>(parts);
}

std::vector<TensorType> infer_parts(const std::vector<TensorType>& in, const Attrs& attrs) {
  if (in.empty() || in.size() > 2) reject("{} takes one matrix or two, not {}", kParts, in.size());
  expect_not_empty(kParts, in);
  std::vector<TensorType> out;
  for (const TensorType& x : in) {
    expect_float(kParts, x);
    if (x.shape.rank() < 1) reject("{} takes rows, not a scalar", kParts);
    out.push_back(parts_type(x.shape, count_of(attrs)));
    out.push_back({{4}, DType::f32});
  }
  return out;
}

std::vector<TensorType> infer_product(const std::vector<TensorType>& in, const Attrs& attrs) {
  parts_product(in, attrs);
  return {{Shape(attrs.integers("shape")), DType::f32}};
}

Cost cost_product(const Problem& problem) {
  const PartsProduct p = parts_product(problem.inputs, problem.attrs);
  Cost c = traffic(problem);
  const double outputs = double(p.m) * double(p.n);
  c.multiply_add = 2 * outputs * double(p.k);
  c.other = p.bias ? outputs : 0;
  if (p.activation != Activation::none) (p.activation == Activation::relu ? c.other : c.special) += outputs;
  return c;
}

void expect_parts(const char* which, const TensorType& type, std::int64_t rows, std::int64_t columns) {
  expect_rank(kProduct, type, 3, "parts of shape [parts, rows, columns]");
  const Shape& s = type.shape;
  if (s[0] > 2 || s[1] != rows || s[2] < columns || s[2] % 8 != 0)
    reject("{} of {} x {} with {} of {}", kProduct, rows, columns, which, s.str());
}

}  // namespace
}  // namespace fp16_parts_schema_cc

TensorType parts_type(const Shape& matrix, int parts) {
  using namespace fp16_parts_schema_cc;
  const std::int64_t columns = last(matrix);
  return {{parts, matrix.numel() / columns, (columns + 7) / 8 * 8}, DType::f16};
}

std::vector<PartsProblem> parts_problems(const Problem& problem) {
  using namespace fp16_parts_schema_cc;
  std::vector<PartsProblem> list;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const Shape& parts = problem.outputs.at(2 * i).shape;
    list.push_back({parts[1], last(problem.inputs[i].shape), parts[2], static_cast<int>(parts[0])});
  }
  return list;
}

PartsProduct parts_product(const std::vector<TensorType>& in, const Attrs& attrs) {
  using namespace fp16_parts_schema_cc;
  if (in.size() != 4 && in.size() != 5) reject("{} takes 4 or 5 inputs, not {}", kProduct, in.size());
  const Shape out(attrs.integers("shape"));
  if (out.rank() < 2) reject("{} needs the shape of its output, not {}", kProduct, out.str());
  PartsProduct p{};
  p.n = last(out), p.m = out.numel() / p.n, p.k = attrs.integer("k");
  p.trans_a = attrs.integer("trans_a") != 0, p.trans_b = attrs.integer("trans_b") != 0;
  if (p.k < 1) reject("{} of {} terms", kProduct, p.k);
  p.rows_a = p.trans_a ? p.k : p.m, p.rows_b = p.trans_b ? p.n : p.k;
  expect_parts("a", in[0], p.rows_a, p.trans_a ? p.m : p.k);
  expect_parts("b", in[2], p.rows_b, p.trans_b ? p.k : p.n);
  for (const std::size_t scale : {1u, 3u})
    if (in[scale].shape != Shape{4}) reject("{}: a scale of {}", kProduct, in[scale].shape.str());
  p.ld_a = in[0].shape[2], p.ld_b = in[2].shape[2];
  p.parts_a = static_cast<int>(in[0].shape[0]), p.parts_b = static_cast<int>(in[2].shape[0]);
  p.bias = in.size() == 5;
  if (p.bias && in[4].shape != Shape{p.n})
    reject("{} with {} outputs and bias {}", kProduct, p.n, in[4].shape.str());
  const auto activation = parse_activation(attrs.text("activation"));
  if (!activation) reject("{} cannot fuse activation '{}'", kProduct, attrs.text("activation"));
  p.activation = *activation;
  return p;
}

OpSchema fp16_parts_schema() {
  using namespace fp16_parts_schema_cc;
  return {.name = kParts, .infer = infer_parts, .cost = [](const Problem& p) { return traffic(p); }};
}
OpSchema parts_product_schema() {
  using namespace fp16_parts_schema_cc;
  return {.name = kProduct, .infer = infer_product, .cost = cost_product};
}

}  // namespace headroom
