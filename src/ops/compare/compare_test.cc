#include "ops/compare/compare.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace compare_test {

std::vector<Values> run_all(std::string_view op, const std::vector<Shape>& shapes,
                            const std::vector<Values>& inputs, DType dtype) {
  const Case c{
      .tier = Tier::ci, .inputs = shapes, .dtypes = std::vector<std::optional<DType>>(shapes.size(), dtype)};
  const Problem p = problem_of(operator_of(op), c, DType::f32);
  EXPECT_EQ(p.outputs[0].dtype, DType::boolean);
  std::vector<Values> results;
  for (const Kernel& kernel : kernels_here(operator_of(op)))
    results.push_back(run_kernel(kernel, p, inputs).outputs[0]);
  return results;
}

TEST(Compare, EachComparisonOfEachType) {
  for (DType dtype : {DType::f32, DType::f64, DType::i32, DType::i64, DType::u8}) {
    const std::vector<Values> in = {{1, 2, 3}, {2}};
    const auto expect = [&](std::string_view op, const Values& want) {
      for (const Values& y : run_all(op, {{3}, {1}}, in, dtype)) EXPECT_EQ(y, want) << op;
    };
    expect("equal", {0, 1, 0});
    expect("less", {1, 0, 0});
    expect("less_or_equal", {1, 1, 0});
    expect("greater", {0, 0, 1});
    expect("greater_or_equal", {0, 1, 1});
  }
}

// 2^53 and its successor are one number in fp64.
TEST(Compare, IntegersAreNotRounded) {
  const Problem p =
      problem_of(operator_of("equal"),
                 {.tier = Tier::ci, .inputs = {{1}, {1}}, .dtypes = {DType::i64, DType::i64}}, DType::f32);
  const std::int64_t a = std::int64_t{1} << 53, b = a + 1;
  for (const Kernel& kernel : operator_of("equal").kernels) {
    if (kernel.device != DeviceKind::cpu) continue;
    std::uint8_t y = 7;
    const void* in[] = {&a, &b};
    void* out[] = {&y};
    kernel.prepare(p, {.target = cpu_capabilities()})({in, out, nullptr, nullptr});
    EXPECT_EQ(y, 0) << kernel.name;
  }
}

TEST(Compare, NanIsNeitherEqualNorLessNorGreater) {
  const double nan = std::nan("");
  for (const char* op : {"equal", "less", "less_or_equal", "greater", "greater_or_equal"})
    for (const Values& y : run_all(op, {{3}, {3}}, {{nan, 1, nan}, {nan, nan, 1}}, DType::f32))
      EXPECT_EQ(y, (Values{0, 0, 0})) << op;
}

TEST(Compare, AnyByteButZeroIsTrue) {
  const std::vector<Values> in = {{0, 0, 200, 3}, {0, 5, 0, 7}};
  for (const Values& y : run_all("logical_and", {{4}, {4}}, in, DType::u8))
    EXPECT_EQ(y, (Values{0, 0, 0, 1}));
  for (const Values& y : run_all("logical_or", {{4}, {4}}, in, DType::u8)) EXPECT_EQ(y, (Values{0, 1, 1, 1}));
  for (const Values& y : run_all("logical_xor", {{4}, {4}}, in, DType::u8))
    EXPECT_EQ(y, (Values{0, 1, 1, 0}));
  for (const Values& y : run_all("logical_not", {{4}}, {in[0]}, DType::u8))
    EXPECT_EQ(y, (Values{1, 1, 0, 0}));
}

TEST(Compare, RejectsBadRequests) {
  const TensorType x{{2}, DType::f32}, n{{2}, DType::i64}, bits{{2}, DType::boolean};
  const auto infer = [](std::string_view op, std::vector<TensorType> in) {
    return operator_of(op).schema.infer(in, {});
  };
  EXPECT_THROW(infer("less", {x}), Error);
  EXPECT_THROW(infer("less", {x, n}), Error);
  EXPECT_THROW(infer("less", {x, {{3}, DType::f32}}), Error);
  EXPECT_THROW(infer("logical_and", {x, x}), Error);
  EXPECT_THROW(infer("logical_not", {n}), Error);
  EXPECT_THROW(infer("logical_not", {bits, bits}), Error);
}

}  // namespace compare_test
}  // namespace headroom::testing
