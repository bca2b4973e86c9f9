// "cuda:fp16x3", "cuda:fp16x3_wgmma" and "cuda:fp16x3_rows", on sizes below those that they are chosen
// for, where a reference is quick: they take them too when asked directly.
#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "ops/product/kernels.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace cuda_gemm_fp16x3_test {

const Kernel& kernel_of(const Operator& op, std::string_view name) {
  for (const Kernel& kernel : op.kernels)
    if (kernel.name == name) return kernel;
  throw std::out_of_range(std::string(name));
}

class CudaFp16x3 : public ::testing::TestWithParam<std::string_view> {
 protected:
  void SetUp() override {
    std::string why;
    if (test_gpu(&why) == nullptr) GTEST_SKIP() << "no GPU here: " << why;
    const Capabilities& gpu = test_gpu()->capabilities();
    if (GetParam() == "cuda:fp16x3" && !gpu.cublaslt) GTEST_SKIP() << "no cuBLASLt here";
    if (GetParam() != "cuda:fp16x3" && gpu.compute_capability != 90) GTEST_SKIP() << "not a Hopper GPU";
  }
  const Kernel& kernel(const Operator& op) const { return kernel_of(op, GetParam()); }
};

Case product(std::int64_t m, std::int64_t n, std::int64_t k, bool ta = false, bool tb = false) {
  return {.inputs = {ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}},
          .attrs = {{"trans_a", std::int64_t{ta}}, {"trans_b", std::int64_t{tb}}}};
}

void check(const Operator& op, const Kernel& kernel, const Case& c, Numbers numbers) {
  const Problem problem = problem_of(op, c, DType::f32);
  if (!kernel.accepts(problem, Target(test_gpu()->capabilities())).ok) return;  // rows at odd places
  const auto inputs = inputs_of(problem, c, numbers, 21);
  const Values want = run_kernel(cpu_kernel(widened(problem)), widened(problem), inputs).outputs[0];
  const Run got = run_kernel(kernel, problem, inputs);
  EXPECT_TRUE(got.guards_intact) << problem.str();
  const bool exact = c.exact && numbers == Numbers::small_integers;
  const Comparison comparison = compare(problem, 0, got.outputs[0], want, exact);
  EXPECT_LE(comparison.worst_ratio, 1) << problem.str() << comparison.where;
}

TEST_P(CudaFp16x3, EveryLayoutAndOddSizes) {
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1},
                             {64, 64, 64},
                             {37, 41, 43},
                             {130, 72, 264},
                             {129, 131, 257},
                             {100, 99, 1031},
                             {96, 200, 2050}})
        for (const Numbers numbers : {Numbers::normal, Numbers::positive, Numbers::small_integers})
          check(operator_of("matmul"), kernel(operator_of("matmul")), product(m, n, k, ta, tb), numbers);
}

TEST_P(CudaFp16x3, BiasAndActivation) {
  for (const char* f : {"", "relu", "sigmoid", "tanh"})
    for (const std::int64_t n : {120, 121}) {
      Case c{.inputs = {{130, 300}, {n, 300}, {n}}};
      if (*f != '\0') c.attrs = {{"activation", std::string(f)}}, c.exact = std::string_view(f) == "relu";
      for (const Numbers numbers : {Numbers::normal, Numbers::small_integers})
        check(operator_of("linear"), kernel(operator_of("linear")), c, numbers);
    }
}

// Slabs are as large as memory should hold of them: larger outputs are done in bands of rows.
TEST_P(CudaFp16x3, BandsOfRows) {
  const Product p{.m = 4100, .n = 4100, .k = 400};
  ASSERT_GT(plan_fp16x3(p).bands, 1);
  for (const bool ta : {false, true})
    check(operator_of("matmul"), kernel(operator_of("matmul")), product(4100, 4100, 400, ta),
          Numbers::normal);
}

// One product with the values of its factors times a and b.
struct Range {
  const char* what;
  double a, b;
};

double frobenius_error(const Values& got, const Values& want) {
  double wrong = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = std::isfinite(got[i]) ? got[i] - want[i] : INFINITY;
    wrong += e * e, size += want[i] * want[i];
  }
  return size == 0 ? std::sqrt(wrong) : std::sqrt(wrong / size);
}

double error_of(const Kernel& kernel, const Case& c, const std::vector<Values>& inputs) {
  const Problem problem = problem_of(operator_of("matmul"), c, DType::f32);
  const Values want = run_kernel(cpu_kernel(widened(problem)), widened(problem), inputs).outputs[0];
  return frobenius_error(run_kernel(kernel, problem, inputs).outputs[0], want);
}

void round_to_fp32(Values& values) {
  for (double& value : values) value = double(static_cast<float>(value));
}

TEST_P(CudaFp16x3, AnyRange) {
  const Case c = product(96, 104, 300, false, true);
  const Problem problem = problem_of(operator_of("matmul"), c, DType::f32);
  for (const auto [what, a, b] :
       {Range{"huge", 1e30, 1}, Range{"tiny", 1, 1e-30}, Range{"huge and tiny", 1e30, 1e-30},
        Range{"tiny and huge", 1e-36, 1e36}, Range{"subnormal", 3e-39, 1e36},
        Range{"tiny twice", 1e-18, 1e-17}, Range{"huge twice", 1e18, 1e17}, Range{"nothing", 0, 1},
        Range{"nothing at all", 0, 0}}) {
    auto inputs = inputs_of(problem, c, Numbers::normal, 31);
    for (double& x : inputs[0]) x *= a;
    for (double& x : inputs[1]) x *= b;
    for (Values& values : inputs) round_to_fp32(values);
    EXPECT_LE(error_of(kernel(operator_of("matmul")), c, inputs), a * b == 0 ? 0.0 : 6e-7) << what;
  }
}

// Elements from 2^-20 to 2^20: the small ones vanish beside the large ones, in fp32 too.
TEST_P(CudaFp16x3, SpreadValues) {
  const Case c = product(96, 104, 300, true, false);
  const Problem problem = problem_of(operator_of("matmul"), c, DType::f32);
  auto inputs = inputs_of(problem, c, Numbers::normal, 37);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Philox random(41, i);
    for (std::size_t k = 0; k < inputs[i].size(); ++k) inputs[i][k] *= std::exp2(40 * random.uniform(k) - 20);
    round_to_fp32(inputs[i]);
  }
  EXPECT_LE(error_of(kernel(operator_of("matmul")), c, inputs), 6e-7);
}

// What they enter into becomes NaN, and nothing else suffers.
TEST_P(CudaFp16x3, InfinitiesAndNan) {
  const Case c = product(96, 104, 300, false, true);
  const Operator& op = operator_of("matmul");
  const Problem problem = problem_of(op, c, DType::f32);
  auto inputs = inputs_of(problem, c, Numbers::normal, 43);
  const Values want = run_kernel(cpu_kernel(widened(problem)), widened(problem), inputs).outputs[0];
  inputs[0][3 * 300 + 5] = INFINITY;
  inputs[0][95 * 300 + 299] = NAN;
  inputs[1][7 * 300] = -INFINITY;
  const Values got = run_kernel(kernel(op), problem, inputs).outputs[0];
  for (std::size_t i = 0; i < 96; ++i)
    for (std::size_t j = 0; j < 104; ++j) {
      const double value = got[i * 104 + j];
      if (i == 3 || i == 95 || j == 7)
        EXPECT_TRUE(std::isnan(value)) << i << ", " << j;
      else
        EXPECT_NEAR(value, want[i * 104 + j], 2e-4) << i << ", " << j;
    }
}

INSTANTIATE_TEST_SUITE_P(Products, CudaFp16x3,
                         ::testing::Values("cuda:fp16x3", "cuda:fp16x3_wgmma", "cuda:fp16x3_rows"),
                         [](const auto& test) { return std::string(test.param.substr(5)); });

}  // namespace cuda_gemm_fp16x3_test
}  // namespace headroom::testing
