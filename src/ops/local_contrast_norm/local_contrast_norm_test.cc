#include "ops/local_contrast_norm/local_contrast_norm.h"

#include <gtest/gtest.h>

#include <numeric>

#include "ops/testing/harness.h"

namespace headroom {
namespace local_contrast_norm_test {

const OpSchema& schema() { return schema_of("local_contrast_norm"); }

TEST(LocalContrastNorm, KeepsTheShapeAndCostsTwoSeparableWindows) {
  const TensorType x{{2, 3, 8, 8}, DType::f32};
  const Attrs attrs{{"kernel", std::int64_t{5}}};
  const Problem p{
      .op = "local_contrast_norm", .inputs = {x}, .outputs = schema().infer({x}, attrs), .attrs = attrs};
  EXPECT_EQ(p.outputs, std::vector<TensorType>{x});
  EXPECT_EQ(schema().cost(p).multiply_add, 128 * 2 * 2 * 2 * 5 + 2 * 384);
  EXPECT_EQ(schema().cost(p).bytes(), 2 * 4 * 384);
}

// Made by PyTorch: windows are conv2d with padding, divided by those of ones; dx by autograd, of dy 1 … 12.
TEST(LocalContrastNorm, ValuesAndGradientAsPytorchHasThem) {
  using testing::Values;
  const TensorType type{{1, 2, 2, 3}, DType::f64};
  const Values x = {1, 2, 4, 3, -1, 2, 0, 5, 1, -2, 1, 3};
  const Values y = {-0.046530135303422, -0.021908998259473, 0.910574513834327,  1.150789748760809,
                    -1.303476749560208, -0.041561699291604, -0.651267446061069, 1.708846956859927,
                    -0.903637418438615, -1.299164061703375, -0.137792087148245, 0.563175611466044};
  const Values dx = {-1.911500208694282, -2.333943151622972, -2.013651020376132, 0.557332175108216,
                     -2.466913302722875, -0.699736236481509, 1.687275491081764,  -0.244018044505248,
                     2.103911720884183,  0.18026543812214,   2.025834400686777,  3.115142738519936};
  Values dy(12);
  std::iota(dy.begin(), dy.end(), 1);
  const Attrs attrs{{"kernel", std::int64_t{3}}};
  const auto expect = [&](const std::string& op, const std::vector<Values>& in, const Values& want) {
    const Problem p{
        .op = op, .inputs = std::vector<TensorType>(in.size(), type), .outputs = {type}, .attrs = attrs};
    for (const Kernel& kernel : testing::kernels_here(operator_of(op))) {
      const Values got = testing::run_kernel(kernel, p, in).outputs[0];
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 1e-13) << kernel.name << i;
    }
  };
  expect("local_contrast_norm", {x}, y);
  expect("local_contrast_norm_grad", {dy, x}, dx);
}

TEST(LocalContrastNorm, AnImageWithoutContrastIsZero) {
  const TensorType type{{1, 1, 4, 4}, DType::f64};
  for (const Kernel& kernel : testing::kernels_here(operator_of("local_contrast_norm"))) {
    const Problem p{.op = "local_contrast_norm", .inputs = {type}, .outputs = {type}, .attrs = {}};
    const testing::Run run = testing::run_kernel(kernel, p, {testing::Values(16)});
    for (const double y : run.outputs[0]) EXPECT_EQ(y, 0) << kernel.name;
  }
}

TEST(LocalContrastNorm, RejectsBadRequests) {
  EXPECT_THROW(schema().infer({{{2, 3, 8, 8}, DType::f32}}, {{"kernel", std::int64_t{1025}}}), Error);
  EXPECT_THROW(schema().infer({{{2, 3, 8}, DType::f32}}, {}), Error);
  EXPECT_THROW(schema().infer({{{2, 3, 8, 8}, DType::i32}}, {}), Error);
  EXPECT_THROW(schema().infer({{{2, 3, 8, 8}, DType::f32}}, {{"kernel", std::int64_t{4}}}), Error);
}

}  // namespace local_contrast_norm_test
}  // namespace headroom
