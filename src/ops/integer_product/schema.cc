#include "ops/expect.h"
#include "ops/integer_product/integer_product.h"

namespace headroom {
namespace integer_product_schema_cc {
namespace {

void expect_factors(std::string_view op, const std::vector<TensorType>& in) {
  expect_inputs(op, in, 4);
  for (std::size_t i = 0; i < 2; ++i) {
    if (!is_8bit(in[i].dtype)) reject("{} multiplies int8 and uint8, not {}", op, name_of(in[i].dtype));
    if (in[i + 2].dtype != in[i].dtype)
      reject("{}: {} with a zero point of {}", op, name_of(in[i].dtype), name_of(in[i + 2].dtype));
  }
}

void expect_zeros(std::string_view op, const TensorType& zeros, std::int64_t lines, std::string_view what) {
  if (zeros.shape.numel() != 1 && zeros.shape != Shape{lines})
    reject("{}: zero points of {}, but there are {} {}", op, zeros.shape.str(), lines, what);
}

std::vector<TensorType> infer_matmul(const std::vector<TensorType>& in, const Attrs&) {
  expect_factors("matmul_integer", in);
  const MatmulProblem p = matmul_problem(in, {});
  expect_zeros("matmul_integer", in[2], p.m, "rows");
  expect_zeros("matmul_integer", in[3], p.n, "columns");
  std::vector<std::int64_t> dims = p.batch.vector();
  if (in[0].shape.rank() > 1) dims.push_back(p.m);
  if (in[1].shape.rank() > 1) dims.push_back(p.n);
  return {{Shape(dims), DType::i32}};
}

Cost cost_matmul(const Problem& problem) {
  const MatmulProblem p = matmul_problem(problem.inputs, {});
  Cost c = traffic(problem);
  c.multiply_add = 2.0 * double(p.count()) * double(p.m) * double(p.n) * double(p.k);
  return c;
}

std::vector<TensorType> infer_conv2d_integer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_factors("conv2d_integer", in);
  const Conv2d c = parse_conv2d({.op = "conv2d_integer", .inputs = in, .outputs = {}, .attrs = attrs});
  expect_zeros("conv2d_integer", in[2], 1, "zero points of the input");
  expect_zeros("conv2d_integer", in[3], c.maps, "maps");
  return {{{c.batch, c.maps, c.window.output.h, c.window.output.w}, DType::i32}};
}

Cost cost_conv2d_integer(const Problem& problem) {
  const Conv2d conv = parse_conv2d(problem);
  Cost c = traffic(problem);
  c.multiply_add = 2.0 * double(conv.batch) * double(conv.output_image()) * double(conv.depth());
  return c;
}

}  // namespace
}  // namespace integer_product_schema_cc

MatmulProblem folded_matmul_integer(const Problem& problem) {
  MatmulProblem p = matmul_problem(problem.inputs, {});
  if (p.count() > 1 && p.folds() && problem.inputs[2].shape.numel() == 1) {
    p.m *= p.count();
    p.batch = Shape{};
    p.a = p.b = {0};
  }
  return p;
}

OpSchema matmul_integer_schema() {
  using namespace integer_product_schema_cc;
  return {.name = "matmul_integer", .infer = infer_matmul, .cost = cost_matmul};
}
OpSchema conv2d_integer_schema() {
  using namespace integer_product_schema_cc;
  return {.name = "conv2d_integer", .infer = infer_conv2d_integer, .cost = cost_conv2d_integer};
}

}  // namespace headroom
