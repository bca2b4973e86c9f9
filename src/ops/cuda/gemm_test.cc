// Products on the GPU against float64 and against each other. The common tests of operators run every kernel
// on every case; here are the sizes and the data on which the sums themselves are tried.
#include "ops/cuda/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

#include "device/cuda/cuda_device.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace cuda_gemm_test {

struct Error {
  double frobenius = 0, largest = 0;  // relative to the size of the result
};

Error error_of(const Values& got, const Values& want) {
  double wrong = 0, size = 0, largest = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = std::isnan(got[i]) ? INFINITY : got[i] - want[i];
    wrong += e * e, size += want[i] * want[i], largest = std::max(largest, std::abs(e));
  }
  return {std::sqrt(wrong / size), largest / std::sqrt(size / double(want.size()))};
}

const Kernel& kernel_named(const Operator& op, std::string_view name) {
  for (const Kernel& kernel : op.kernels)
    if (kernel.name == name) return kernel;
  throw std::out_of_range(std::string(name));
}

class CudaGemm : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why;
    if (test_gpu(&why) == nullptr) GTEST_SKIP() << "no GPU here: " << why;
    target_ = test_gpu()->capabilities();
    if (!target_.device.cublaslt) GTEST_SKIP() << "no cuBLASLt here to compare with";
  }
  Target target_;
};

Case product(std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb) {
  return {.inputs = {ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}},
          .attrs = {{"trans_a", std::int64_t{ta}}, {"trans_b", std::int64_t{tb}}}};
}

// What one fp32 sum of k terms errs by: 8.4e-7 and at worst 4.7e-6 of 4096, of cuBLAS on all-positive data.
Error plain_sums(double k) { return {1.3e-8 * std::sqrt(k), 7e-8 * std::sqrt(k)}; }
// The same on numbers of both signs: 1.2e-6 and 1.5e-5. The rungs that only show an idea add up term by term.
Error term_by_term(double k, Numbers numbers) {
  return numbers == Numbers::positive ? plain_sums(k) : Error{1.9e-8 * std::sqrt(k), 2.3e-7 * std::sqrt(k)};
}
bool adds_term_by_term(std::string_view kernel) {
  for (const std::string_view name :
       {"cuda:async_tiles", "cuda:register_tiles", "cuda:block_64x16", "cuda:outputs_4x4", "cuda:shared_2d",
        "cuda:shared_1d", "cuda:threads_along_rows", "cuda:threads_along_columns"})
    if (kernel == name) return true;
  return false;
}

// In fp64, by the tiles that the common tests hold to the reference: the CPU takes minutes for these sizes.
Values in_fp64(const Operator& op, const Problem& problem, const std::vector<Values>& inputs) {
  return run_kernel(kernel_named(op, "cuda:tiles"), widened(problem), inputs).outputs[0];
}

// Twice the error of cuBLAS in fp32, on the mean and on the worst element, or a last place where sums are
// short. For outputs of few tiles cuBLAS cuts k into pieces, which makes it better than fp32 has to be:
// the kernels of fp16 parts, whose pieces are as long as speed needs them, are held to sums in one piece.
TEST_F(CudaGemm, Fp32IsAsAccurateAsCublas) {
  const Operator& op = operator_of("matmul");
  for (const Case& c : {product(512, 512, 64, false, true), product(300, 260, 784, false, true),
                        product(599, 433, 751, false, false), product(512, 784, 3000, true, false),
                        product(257, 130, 4099, true, true), product(160, 256, 17496, false, true),
                        product(10, 512, 3000, true, false), product(3000, 10, 512, false, true),
                        product(16, 16, 17496, false, true), product(3000, 512, 784, false, true),
                        product(1536, 1408, 4096, false, false)})
    for (const Numbers numbers : {Numbers::normal, Numbers::positive}) {
      const Problem problem = problem_of(op, c, DType::f32);
      const double terms = double(c.inputs[0][c.attrs.integer("trans_a") != 0 ? 0 : 1]);
      const auto inputs = inputs_of(problem, c, numbers, 5);
      const Values want = in_fp64(op, problem, inputs);
      const Error library =
          error_of(run_kernel(kernel_named(op, "cuda:cublaslt"), problem, inputs).outputs[0], want);
      for (const Kernel& kernel : op.kernels) {
        if (kernel.device != DeviceKind::cuda || !kernel.accepts(problem, target_).ok) continue;
        const Error e = error_of(run_kernel(kernel, problem, inputs).outputs[0], want);
        std::cout << fmt::format("{:<14} {:<9} {}: error {:.2e} max {:.2e}, cuBLAS {:.2e} max {:.2e}\n",
                                 kernel.name, numbers == Numbers::normal ? "normal" : "positive",
                                 problem.str(), e.frobenius, e.largest, library.frobenius, library.largest);
        const Error plain = adds_term_by_term(kernel.name)           ? term_by_term(terms, numbers)
                            : kernel.name.starts_with("cuda:fp16x3") ? plain_sums(terms)
                                                                     : Error{0.6e-7, 0.6e-6};
        EXPECT_LE(e.frobenius, 2 * std::max(library.frobenius, plain.frobenius))
            << kernel.name << problem.str();
        EXPECT_LE(e.largest, 2 * std::max(library.largest, plain.largest)) << kernel.name << problem.str();
      }
    }
}

TEST_F(CudaGemm, CublasAndTilesAgreeInEveryType) {
  const Operator& op = operator_of("matmul");
  std::vector<Case> cases;
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (auto [m, n, k] :
           {std::array<std::int64_t, 3>{64, 64, 64}, {130, 72, 264}, {37, 41, 43}, {200, 136, 1000}})
        cases.push_back(product(m, n, k, ta, tb));
  cases.push_back({.inputs = {{5, 1, 33, 20}, {4, 20, 48}}});  // both broadcast: several launches
  cases.push_back({.inputs = {{96, 64, 32}, {96, 64, 32}}, .attrs = {{"trans_b", std::int64_t{1}}}});
  for (const Case& c : cases)
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
      for (const bool tf32 : {false, true}) {
        if (tf32 && dtype != DType::f32) continue;
        const Problem problem = problem_of(op, c, dtype);
        const auto inputs = inputs_of(problem, c, Numbers::normal, 9);
        const Values want = run_kernel(cpu_kernel(widened(problem)), widened(problem), inputs).outputs[0];
        for (const char* name : {"cuda:cublaslt", "cuda:tiles", "cuda:fp64_tiles"}) {
          if (std::string_view(name) == "cuda:fp64_tiles" && dtype != DType::f64) continue;
          const auto run = run_kernel(kernel_named(op, name), problem, inputs, {.tf32 = tf32});
          EXPECT_TRUE(run.guards_intact) << name;
          const Comparison comparison = compare(problem, 0, run.outputs[0], want, false, {.tf32 = tf32});
          EXPECT_LE(comparison.worst_ratio, 1) << name << " " << problem.str() << comparison.where;
        }
      }
}

TEST_F(CudaGemm, TheSameBitsEveryTime) {
  const Operator& op = operator_of("matmul");
  for (const Case& c : {product(256, 120, 4000, false, true), product(10, 512, 3000, true, false),
                        product(500, 520, 1000, false, false)}) {
    const Problem problem = problem_of(op, c, DType::f32);
    const auto inputs = inputs_of(problem, c, Numbers::normal, 3);
    for (const Kernel& kernel : op.kernels) {
      if (kernel.device != DeviceKind::cuda || !kernel.accepts(problem, target_).ok) continue;
      const Values once = run_kernel(kernel, problem, inputs).outputs[0];
      EXPECT_EQ(once, run_kernel(kernel, problem, inputs).outputs[0]) << kernel.name;
    }
  }
}

// Operands that begin one element after a multiple of 16 bytes.
TEST_F(CudaGemm, TakesPointersOfAnyAlignment) {
  Device& gpu = *test_gpu();
  const Operator& op = operator_of("linear");
  for (const Case& c :
       {Case{.inputs = {{132, 264}, {68, 264}, {68}}}, Case{.inputs = {{132, 264}, {8, 264}, {8}}},
        Case{.inputs = {{520, 784}, {500, 784}, {500}}}}) {
    const Problem problem = problem_of(op, c, DType::f32);
    const auto inputs = inputs_of(problem, c, Numbers::normal, 3);
    const Values want = run_kernel(cpu_kernel(widened(problem)), widened(problem), inputs).outputs[0];
    std::vector<Buffer> buffers;
    std::vector<const void*> in;
    for (const Values& values : inputs) {
      const std::vector<float> narrow(values.begin(), values.end());
      buffers.push_back(gpu.allocate(4 * narrow.size() + 4));
      in.push_back(static_cast<float*>(buffers.back().data()) + 1);
      gpu.upload(static_cast<float*>(buffers.back().data()) + 1, narrow.data(), 4 * narrow.size());
    }
    const Buffer out = gpu.allocate(4 * want.size() + 4);
    for (const Kernel& kernel : op.kernels) {
      if (kernel.device != DeviceKind::cuda || !kernel.accepts(problem, target_).ok) continue;
      gpu.zero(out.data(), out.bytes());
      void* y = static_cast<float*>(out.data()) + 1;
      const Buffer workspace =
          gpu.allocate(kernel.workspace ? std::max<std::size_t>(4, kernel.workspace(problem, target_)) : 4);
      kernel.prepare(problem, {.target = target_, .device = test_gpu()})(
          {in.data(), &y, workspace.data(), &gpu.stream()});
      std::vector<float> got(want.size());
      gpu.download(got.data(), y, 4 * got.size());
      EXPECT_LT(error_of(Values(got.begin(), got.end()), want).frobenius, 5e-7) << kernel.name;
    }
  }
}

TEST_F(CudaGemm, PlansAddToWhatIsThere) {
  Device& gpu = *test_gpu();
  const std::vector<float> a(64 * 32, 0.5f), b(32 * 48, 2.0f), bias(48, 1.0f);
  std::vector<float> c(64 * 48, -40.0f);
  const Buffer da = gpu.allocate(4 * a.size()), db = gpu.allocate(4 * b.size()),
               dc = gpu.allocate(4 * c.size()), dbias = gpu.allocate(4 * bias.size()),
               workspace = gpu.allocate(1 << 20);
  gpu.upload(da.data(), a.data(), da.bytes());
  gpu.upload(db.data(), b.data(), db.bytes());
  gpu.upload(dbias.data(), bias.data(), dbias.bytes());
  gpu.upload(dc.data(), c.data(), dc.bytes());
  const cuda::GemmPlan plan(
      {.m = 64, .n = 48, .k = 32, .lda = 32, .ldb = 48, .ldc = 48, .bias = true, .beta = 1},
      workspace.bytes());
  ASSERT_TRUE(plan.good());
  plan.run(static_cast<CudaStream&>(gpu.stream()).handle(), da.data(), db.data(), dc.data(), dbias.data(),
           workspace.data());
  gpu.download(c.data(), dc.data(), dc.bytes());
  for (const float value : c) ASSERT_EQ(value, 32 - 40 + 1);
}

}  // namespace cuda_gemm_test
}  // namespace headroom::testing
