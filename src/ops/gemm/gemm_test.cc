#include "ops/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "ops/testing/harness.h"

namespace headroom::testing {
namespace gemm_test {

Shape product(const Shape& a, const Shape& b, const Attrs& attrs = {}) {
  return operator_of("gemm").schema.infer({{a, DType::f32}, {b, DType::f32}}, attrs)[0].shape;
}

TEST(Gemm, RejectsWhatDoesNotMeet) {
  const Attrs ta{{"trans_a", std::int64_t{1}}};
  EXPECT_EQ(product({5, 4}, {5, 3}, ta), (Shape{4, 3}));
  EXPECT_THROW(product({4, 5}, {4, 5}), Error);
  EXPECT_THROW(product({4, 5}, {4, 5}, {{"beta", 1.0}}), Error) << "nothing to add";
  EXPECT_THROW(product({4, 5}, {5, 3}, {{"alpha", std::nan("")}}), Error);
  EXPECT_THROW(product({4, 5}, {5, 3}, {{"beta", double{INFINITY}}}), Error);
  EXPECT_THROW(product({4}, {4, 5}), Error);
  EXPECT_THROW(product({0, 5}, {5, 3}), Error);
  const auto infer = operator_of("gemm").schema.infer;
  EXPECT_THROW(infer({{{2, 2}, DType::f32}, {{2, 2}, DType::f64}}, {}), Error);
  EXPECT_THROW(infer({{{2, 2}, DType::f32}, {{2, 2}, DType::f32}, {{2, 3}, DType::f32}}, {}), Error);
}

TEST(Gemm, CountsTheScaling) {
  const auto cost = [](double alpha, double beta) {
    Problem p{.op = "gemm",
              .inputs = {{{3, 4}, DType::f32}, {{4, 5}, DType::f32}, {{3, 5}, DType::f32}},
              .outputs = {{{3, 5}, DType::f32}},
              .attrs = {{"alpha", alpha}, {"beta", beta}}};
    return operator_of("gemm").schema.cost(p);
  };
  EXPECT_EQ(cost(1, 0).flops(), 120);
  EXPECT_EQ(cost(2, 5).flops(), 120 + 15 + 30);
  EXPECT_EQ(cost(2, 5).bytes() - cost(1, 0).bytes(), 60) << "c is read only where it counts";
}

// As in BLAS: a c that counts for nothing may hold anything.
TEST(Gemm, BetaOfZeroReadsNoC) {
  const Problem p{.op = "gemm",
                  .inputs = {{{9, 7}, DType::f32}, {{7, 11}, DType::f32}, {{9, 11}, DType::f32}},
                  .outputs = {{{9, 11}, DType::f32}},
                  .attrs = {{"beta", 0.0}}};
  const std::vector<Values> inputs = {Values(63, 1.0), Values(77, 2.0), Values(99, std::nan(""))};
  for (const Kernel& kernel : operator_of("gemm").kernels) {
    if (kernel.device != DeviceKind::cpu) continue;
    // A processor may lack the instructions of a kernel.
    if (!accepts(kernel, p, Target(cpu_capabilities(), {.bf16 = true})).ok) continue;
    const auto run = run_kernel(kernel, p, inputs);
    for (const double y : run.outputs[0]) ASSERT_EQ(y, 14) << kernel.name;
  }
}

}  // namespace gemm_test
}  // namespace headroom::testing
