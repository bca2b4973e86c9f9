// The Hopper kernels on a GPU: every layout and type, sizes that end within tiles, long sums, batches, and
// launches that are captured or whose operands move. The common tests of operators and those of gemm_test.cc
// run them too.
#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "base/half.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace cuda_gemm_wgmma_test {

const Kernel& product_kernel(const Operator& op, std::string_view name) {
  for (const Kernel& kernel : op.kernels)
    if (kernel.name == name) return kernel;
  throw std::out_of_range(std::string(name));
}

class CudaWgmma : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (test_gpu(&why) == nullptr) GTEST_SKIP() << "no GPU here: " << why;
    if (test_gpu()->capabilities().compute_capability != 90) GTEST_SKIP() << "not a Hopper GPU";
  }
};

Case wgmma_case(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
  return {.inputs = {ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}},
          .attrs = {{"trans_a", std::int64_t{ta}}, {"trans_b", std::int64_t{tb}}}};
}

struct Form {
  const char* kernel;
  DType dtype;
  bool tf32;
};
constexpr Form kForms[] = {{"cuda:wgmma", DType::bf16, false},
                           {"cuda:wgmma", DType::f16, false},
                           {"cuda:wgmma", DType::f32, true},
                           {"cuda:fp16x3_wgmma", DType::f32, false}};

Values rounded(Values values, DType dtype) {
  for (double& x : values)
    if (dtype == DType::f16 || dtype == DType::bf16) x = half_value(dtype, half_bits(dtype, x));
  return values;
}

// Sums of small integers are whole in fp32, so the result is exact but for one rounding to 16 bit.
void check_exact(const char* op_name, const Case& c, const Form& form) {
  const Operator& op = operator_of(op_name);
  const Problem problem = problem_of(op, c, form.dtype);
  const auto inputs = inputs_of(problem, c, Numbers::small_integers, 11);
  const Values want =
      rounded(run_kernel(cpu_kernel(widened(problem)), widened(problem), inputs).outputs[0], form.dtype);
  Target target = test_gpu()->capabilities();
  target.policy.tf32 = form.tf32;
  const Kernel& kernel = product_kernel(op, form.kernel);
  ASSERT_TRUE(accepts(kernel, problem, target).ok) << accepts(kernel, problem, target).reason;
  const testing::Run got = run_kernel(kernel, problem, inputs, {.tf32 = form.tf32});
  EXPECT_TRUE(got.guards_intact) << form.kernel << problem.str();
  std::size_t wrong = 0, first = 0;
  for (std::size_t i = want.size(); i-- > 0;)
    if (got.outputs[0][i] != want[i]) ++wrong, first = i;
  EXPECT_EQ(wrong, 0u) << form.kernel << " " << problem.str() << ": first at " << first << ", "
                       << got.outputs[0][first] << " instead of " << want[first];
}

// One tile, less than one, ends within tiles of rows, columns and steps; both widths of tiles.
TEST_F(CudaWgmma, ExactIntegersInEveryLayout) {
  for (const Form& form : kForms)
    for (const bool ta : {false, true})
      for (const bool tb : {false, true})
        for (auto [m, n, k] : {std::array<std::int64_t, 3>{128, 128, 64},
                               {8, 8, 8},
                               {64, 72, 40},
                               {128, 256, 512},
                               {136, 264, 200},
                               {400, 520, 1000},
                               {2056, 4104, 72},
                               {16, 24, form.tf32 ? 4088 : 4104}})  // it refuses longer sums in tf32
          check_exact("matmul", wgmma_case(m, n, k, ta, tb), form);
}

// Rows that begin at multiples of 16 bytes are all that the copy engine asks for; the split copies are always
// so.
TEST_F(CudaWgmma, OddSides) {
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {37, 41, 43}, {129, 131, 257}, {3, 300, 1031}})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) check_exact("matmul", wgmma_case(m, n, k, ta, tb), kForms[3]);
  for (const Form& form : kForms) {
    check_exact("matmul", wgmma_case(37, 41, 48, false, true), form);
    check_exact("matmul", wgmma_case(136, 264, 43, true, false), form);
  }
  check_exact("matmul", wgmma_case(37, 41, 43, true, false), kForms[2]);  // both in copies
}

TEST_F(CudaWgmma, Batches) {
  const Attrs tb{{"trans_b", std::int64_t{1}}}, ta{{"trans_a", std::int64_t{1}}};
  for (const Form& form : {kForms[0], kForms[1], kForms[2]}) {
    check_exact("matmul", {.inputs = {{5, 136, 72}, {5, 72, 264}}}, form);
    check_exact("matmul", {.inputs = {{96, 128, 64}, {96, 128, 64}}, .attrs = tb}, form);
    check_exact("matmul", {.inputs = {{3, 72, 40}, {3, 72, 48}}, .attrs = ta}, form);
    check_exact("matmul", {.inputs = {{5, 1, 32, 24}, {4, 24, 48}}}, form);  // both broadcast: several runs
    check_exact("matmul", {.inputs = {{24, 40}, {6, 40, 56}}}, form);        // one A for all
  }
}

TEST_F(CudaWgmma, BiasAndActivation) {
  for (const Form& form : kForms)
    for (const char* f : {"", "relu", "sigmoid", "tanh"}) {
      Case c{.inputs = {{264, 520}, {136, 520}, {136}}};
      if (*f != 0) c.attrs = {{"activation", std::string(f)}};
      if (std::string_view(f) == "" || std::string_view(f) == "relu") check_exact("linear", c, form);
      const Problem problem = problem_of(operator_of("linear"), c, form.dtype);
      const auto inputs = inputs_of(problem, c, Numbers::normal, 5);
      const Values want = run_kernel(cpu_kernel(widened(problem)), widened(problem), inputs).outputs[0];
      const testing::Run got = run_kernel(product_kernel(operator_of("linear"), form.kernel), problem, inputs,
                                          {.tf32 = form.tf32});
      const Comparison comparison = compare(problem, 0, got.outputs[0], want, false, {.tf32 = form.tf32});
      EXPECT_LE(comparison.worst_ratio, 1) << form.kernel << f << comparison.where;
    }
}

double relative_error(const Values& got, const Values& want) {
  double wrong = 0, size = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = std::isnan(got[i]) ? INFINITY : got[i] - want[i];
    wrong += e * e, size += want[i] * want[i];
  }
  return std::sqrt(wrong / size);
}

// Twice the error of the library in the same mode: the copy engine must round factors to tf32, where the
// instructions themselves would cut them off (all-positive data shows it, 7e-4 instead of 3e-5); and exact
// fp32 stays exact in long sums. A test for each form, because they take a minute each and can run side by
// side.
class CudaWgmmaForms : public CudaWgmma, public ::testing::WithParamInterface<Form> {};

TEST_P(CudaWgmmaForms, AsAccurateAsTheLibrary) {
  const Form& form = GetParam();
  if (!test_gpu()->capabilities().cublaslt) GTEST_SKIP() << "no cuBLASLt here to compare with";
  const Operator& op = operator_of("matmul");
  for (const Case& c : {wgmma_case(512, 512, 64, false, true), wgmma_case(264, 136, 4096, false, true),
                        wgmma_case(160, 256, 17496, true, false), wgmma_case(1536, 1408, 4096, false, false)})
    for (const Numbers numbers : {Numbers::normal, Numbers::positive}) {
      const Problem problem = problem_of(op, c, form.dtype);
      const auto inputs = inputs_of(problem, c, numbers, 7);
      const double terms = double(c.inputs[0][c.attrs.integer("trans_a") != 0 ? 0 : 1]);
      Target target = test_gpu()->capabilities();
      target.policy.tf32 = form.tf32;
      if (!product_kernel(op, form.kernel).accepts(problem, target).ok) continue;  // tf32 in long sums
      // In fp64, by the tiles that the common tests hold to the reference: the CPU takes minutes.
      const Values want = run_kernel(product_kernel(op, "cuda:tiles"), widened(problem), inputs).outputs[0];
      const auto error = [&](const char* name) {
        return relative_error(
            run_kernel(product_kernel(op, name), problem, inputs, {.tf32 = form.tf32}).outputs[0], want);
      };
      const double own = error(form.kernel), library = error("cuda:cublaslt");
      std::cout << fmt::format("{:<18} {:<9} {}: error {:.2e}, cuBLAS {:.2e}\n", form.kernel,
                               numbers == Numbers::normal ? "normal" : "positive", problem.str(), own,
                               library);
      // As in gemm_test.cc: cuBLAS may cut k into pieces, which makes it better than sums in one piece.
      const double plain = form.dtype == DType::f32 && !form.tf32 ? 1.3e-8 * std::sqrt(terms) : 0;
      EXPECT_LE(own, 2 * std::max(library, plain)) << form.kernel << problem.str();
    }
}

INSTANTIATE_TEST_SUITE_P(Forms, CudaWgmmaForms, ::testing::ValuesIn(kForms), [](const auto& form) {
  return fmt::format("{}_{}", std::string(form.param.kernel).substr(5), name_of(form.param.dtype));
});

// A launch allocates nothing and may be captured; a launcher serves operands wherever they are.
TEST_F(CudaWgmma, CapturedLaunchesAndOperandsThatMove) {
  Device& gpu = *test_gpu();
  const Operator& op = operator_of("matmul");
  for (const Form& form : {kForms[2], kForms[3]}) {
    const Case c = wgmma_case(136, 264, 200, false, false);
    const Problem problem = problem_of(op, c, form.dtype);
    LaunchContext context{.target = gpu.capabilities(), .device = &gpu};
    context.target.policy.tf32 = form.tf32;
    const Kernel& kernel = product_kernel(op, form.kernel);
    const Launcher launch = kernel.prepare(problem, context);
    const Buffer workspace =
        gpu.allocate(std::max<std::size_t>(4, kernel.workspace(problem, context.target)));
    for (const std::uint64_t seed : {1, 2}) {
      const auto inputs = inputs_of(problem, c, Numbers::small_integers, seed);
      const Values want = run_kernel(cpu_kernel(widened(problem)), widened(problem), inputs).outputs[0];
      std::vector<Buffer> memory;
      std::vector<const void*> in;
      for (const Values& values : inputs) {
        const std::vector<float> narrow(values.begin(), values.end());
        memory.push_back(gpu.allocate(4 * narrow.size()));
        gpu.upload(memory.back().data(), narrow.data(), 4 * narrow.size());
        in.push_back(memory.back().data());
      }
      const Buffer out = gpu.allocate(4 * want.size());
      void* y = out.data();
      const auto captured = gpu.capture([&] { launch({in.data(), &y, workspace.data(), &gpu.stream()}); });
      ASSERT_NE(captured, nullptr);
      for (int replay = 0; replay < 2; ++replay) {
        gpu.zero(y, out.bytes());
        captured->launch();
        std::vector<float> got(want.size());
        gpu.download(got.data(), y, out.bytes());
        EXPECT_EQ(Values(got.begin(), got.end()), want) << form.kernel << " " << seed << " " << replay;
      }
    }
  }
}

}  // namespace cuda_gemm_wgmma_test
}  // namespace headroom::testing
