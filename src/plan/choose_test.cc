// Which kernels the order of the lists gives on a Hopper, for sizes that were measured there.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/operator.h"
#include "plan/plan.h"

namespace headroom {
namespace {

const Target kHopper(Capabilities{
    .kind = DeviceKind::cuda, .compute_capability = 90, .multiprocessors = 132, .cublaslt = true});

Choice choice_of(const char* op, DType dtype, const std::vector<Shape>& inputs, const Target& target,
                 const Attrs& attrs = {}) {
  Problem problem{.op = op, .inputs = {}, .outputs = {}, .attrs = attrs};
  for (const Shape& shape : inputs) problem.inputs.push_back({shape, dtype});
  problem.outputs = operator_of(op).schema.infer(problem.inputs, attrs);
  return first_that_accepts(problem, target);
}

TEST(ProductChoice, EachTypeAndSizeHasItsKernel) {
  const auto linear = [](DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, const Target& target) {
    return choice_of("linear", dtype, {{m, k}, {n, k}}, target).kernel->name;
  };
  Target tf32 = kHopper, bare = kHopper;
  tf32.policy.tf32 = true;
  bare.device.cublaslt = false;
  EXPECT_EQ(linear(DType::f32, 3000, 512, 784, kHopper), "cuda:fp16x3_wgmma");
  EXPECT_EQ(linear(DType::f32, 3000, 512, 784, bare), "cuda:fp16x3_wgmma");
  EXPECT_EQ(linear(DType::f32, 3200, 64, 784, kHopper), "cuda:tf32x3");
  EXPECT_EQ(linear(DType::f32, 800, 100, 784, kHopper), "cuda:slices");
  EXPECT_EQ(linear(DType::f32, 256, 84, 120, kHopper), "cuda:slices");
  EXPECT_EQ(linear(DType::f32, 3000, 10, 512, kHopper), "cuda:skinny");
  EXPECT_EQ(linear(DType::f16, 3000, 10, 512, kHopper), "cuda:skinny");
  EXPECT_EQ(linear(DType::f32, 3000, 512, 784, tf32), "cuda:cublaslt");
  EXPECT_EQ(linear(DType::f16, 3000, 512, 784, kHopper), "cuda:cublaslt");
  EXPECT_EQ(linear(DType::f64, 3000, 512, 784, kHopper), "cuda:cublaslt");
  EXPECT_EQ(linear(DType::bf16, 3000, 512, 784, bare), "cuda:tiles");
  EXPECT_EQ(choice_of("matmul", DType::f32, {{800, 1000}, {1000, 10}}, kHopper).kernel->name, "cuda:thin");
}

// The gradient of weights, dy^T x.
TEST(ProductChoice, BlocksShareKWhereBothOperandsLieAcrossIt) {
  Target tf32 = kHopper, older = kHopper;
  tf32.policy.tf32 = true;
  older.device.compute_capability = 80;
  const Attrs across{{"trans_a", std::int64_t{1}}};
  const auto gradient = [&](std::int64_t batch, std::int64_t out, std::int64_t in, const Target& target) {
    return choice_of("matmul", DType::f32, {{batch, out}, {batch, in}}, target, across).kernel->name;
  };
  EXPECT_EQ(gradient(800, 100, 784, kHopper), "cuda:clusters");
  EXPECT_EQ(gradient(256, 84, 120, kHopper), "cuda:clusters");
  EXPECT_EQ(gradient(256, 84, 120, older), "cuda:tf32x3");
  EXPECT_EQ(gradient(800, 100, 784, tf32), "cuda:cublaslt");
}

TEST(ProductChoice, AKernelThatDoesNotPayIsNamedWithItsReason) {
  const Choice small = choice_of("linear", DType::f32, {{200, 100}, {200, 100}}, kHopper);
  const auto found = std::ranges::find(small.refused, "cuda:fp16x3_wgmma", &Refusal::kernel);
  ASSERT_NE(found, small.refused.end());
  EXPECT_EQ(found->reason, "splitting is faster only from 96 x 96 outputs and sums of 384 terms");
}

}  // namespace
}  // namespace headroom
