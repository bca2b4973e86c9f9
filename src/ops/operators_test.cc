// Every kernel of every operator against its reference, on every case; gradients by finite differences in
// fp64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <string>

#include "base/testing/limits.h"
#include "graph/autodiff.h"
#include "ops/testing/graph_run.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace operators_test {

// A kernel, and which of its operator's cases it is tried on: those whose number leaves this remainder.
// Kernels with candidates build each of them for each case, so their cases are spread over several tests.
struct KernelTest {
  const Operator* op;
  const Kernel* kernel;
  std::size_t part = 0, parts = 1;

  std::vector<Case> cases() const {
    std::vector<Case> list;
    for (std::size_t i = part; i < op->cases.size(); i += parts)
      if (is_own_case(i)) list.push_back(op->cases[i]);
    return list;
  }
};

class Kernels : public ::testing::TestWithParam<KernelTest> {};
class CudaKernels : public Kernels {};
class Gradients : public ::testing::TestWithParam<const Operator*> {};

// Inputs of a problem, and what the reference makes of them.
struct Expected {
  std::vector<Values> inputs;
  Run run;
};

// Kernels of one operator follow one another, and on a GPU there are dozens of some: what they need is kept
// until the next operator's turn.
const Expected& expected_of(const Operator& op, const Problem& problem, const Case& c, Numbers numbers) {
  static const Operator* of = nullptr;
  static std::map<std::string, Expected> kept;
  static std::size_t kept_values = 0;
  constexpr std::size_t kMaxValues = std::size_t{1} << 27;  // 1 GiB
  if (of != &op || kept_values > kMaxValues) kept.clear(), kept_values = 0, of = &op;
  std::string key = fmt::format("{} {}", problem.str(), static_cast<int>(numbers));
  for (const Fill& fill : c.fills) key += fmt::format(" {}:{}", static_cast<int>(fill.kind), fill.value);
  if (const auto it = kept.find(key); it != kept.end()) return it->second;
  Expected expected{.inputs = inputs_of(problem, c, numbers, 17), .run = {}};
  expected.run = run_kernel(reference_of(op), widened(problem), expected.inputs);
  for (const auto* list : {&expected.inputs, &expected.run.outputs})
    for (const Values& values : *list) kept_values += values.size();
  return kept.emplace(key, std::move(expected)).first->second;
}

// Roots of unity are no integers: a Fourier transform rounds whatever it is given.
bool rounds_integers(const Kernel& kernel) { return kernel.name == "cuda:fft"; }

// The allowed error is that of a sum of mixed signs: all-positive sums are as much larger as they are longer.
void check(const Operator& op, const Kernel& kernel, const Case& c, const Problem& problem, Numbers numbers,
           const Policy& policy = {}) {
  SCOPED_TRACE(fmt::format("{} by {}{}", problem.str(), kernel.name,
                           policy.tf32   ? " in tf32"
                           : policy.bf16 ? " in bf16"
                                         : ""));
  Target target = kernel.device == DeviceKind::cuda ? test_gpu()->capabilities() : cpu_capabilities();
  target.policy = policy;
  if (const Verdict v = accepts(kernel, problem, target); !v.ok) {
    EXPECT_FALSE(v.reason.empty());
    return;
  }
  const auto& [inputs, want] = expected_of(op, problem, c, numbers);
  auto check_run = [&](const Run& got) {
    EXPECT_TRUE(got.guards_intact) << "wrote outside its buffers";
    for (std::size_t i = 0; i < got.outputs.size(); ++i) {
      const bool exact =
          op.exact && c.exact && numbers == Numbers::small_integers && !rounds_integers(kernel);
      const Comparison comparison = compare(problem, i, got.outputs[i], want.outputs[i], exact, policy);
      EXPECT_LE(comparison.worst_ratio, 1) << comparison.where;
    }
  };
  if (!kernel.candidates) return check_run(run_kernel(kernel, problem, inputs, policy));
  // Every candidate that the library has computes the same. Other numbers show nothing new of the others than
  // of one.
  const bool every = numbers == Numbers::normal;
  std::size_t ran = 0;
  for (const std::string& variant : kernel.candidates(problem, target)) {
    if (ran > 0 && !every) break;
    SCOPED_TRACE(variant);
    try {
      check_run(run_kernel(kernel, problem, inputs, policy, variant));
      ++ran;
    } catch (const Error&) {
      test_gpu()->clear_error();
    }
  }
  EXPECT_GT(ran, 0u) << "none of its candidates runs";
}

constexpr Policy kTf32{.tf32 = true}, kBf16{.bf16 = true};

// Runs only where factors may be rounded to bf16.
bool needs_bf16(const Kernel& kernel, const Problem& problem) {
  return !accepts(kernel, problem, cpu_capabilities()).ok &&
         accepts(kernel, problem, Target(cpu_capabilities(), kBf16)).ok;
}

TEST_P(Kernels, AgreeWithTheReference) {
  const auto& [op, kernel, part, parts] = GetParam();
  ASSERT_FALSE(op->cases.empty());
  for (const Case& c : GetParam().cases()) {
    if (c.tier == Tier::perf) continue;
    for (DType dtype : {DType::f32, DType::f64}) {
      const Problem problem = problem_of(*op, c, dtype);
      check(*op, *kernel, c, problem, Numbers::normal);
      if (op->exact) check(*op, *kernel, c, problem, Numbers::small_integers);
      if (dtype != DType::f32 || !needs_bf16(*kernel, problem)) continue;
      check(*op, *kernel, c, problem, Numbers::normal, kBf16);
      check(*op, *kernel, c, problem, Numbers::positive, kBf16);
      if (op->exact) check(*op, *kernel, c, problem, Numbers::small_integers, kBf16);
    }
  }
}

// One element that is no number: outputs that depend on it are none either, and no others. Gradients may
// leave out what a mask takes away, or multiply it by zero: both are in use.
TEST_P(Kernels, ANaNReachesWhatDependsOnIt) {
  const auto& [op, kernel, part, parts] = GetParam();
  constexpr std::int64_t kMaxElements = 20'000;
  if (op->schema.name.ends_with("_grad")) return;
  for (const Case& c : GetParam().cases()) {
    if (c.tier == Tier::perf) continue;
    if (std::ranges::any_of(c.inputs, [](const Shape& shape) { return shape.numel() > kMaxElements; }))
      continue;
    const Problem problem = problem_of(*op, c, DType::f32);
    if (problem.inputs.empty() || !is_float(problem.inputs[0].dtype)) continue;
    if (problem.attrs.has("activation_grad")) continue;
    if (problem.attrs.real("alpha", 1) == 0)
      continue;  // a matrix library need not read what it scales by zero
    const Policy policy = needs_bf16(*kernel, problem) ? kBf16 : Policy{};
    if (!accepts(*kernel, problem, Target(cpu_capabilities(), policy)).ok) continue;
    auto inputs = inputs_of(problem, c, Numbers::normal, 23);
    if (inputs[0].empty()) continue;
    inputs[0][inputs[0].size() / 2] = std::nan("");
    const testing::Run want = run_kernel(reference_of(*op), widened(problem), inputs);
    const testing::Run got = run_kernel(*kernel, problem, inputs, policy);
    for (std::size_t i = 0; i < got.outputs.size(); ++i) {
      std::size_t lost = 0, more = 0;
      for (std::size_t k = 0; k < got.outputs[i].size(); ++k) {
        const bool wanted = std::isnan(want.outputs[i][k]), there = std::isnan(got.outputs[i][k]);
        lost += wanted && !there, more += there && !wanted;
      }
      EXPECT_EQ(lost, 0u) << problem.str() << ", output " << i;
      EXPECT_EQ(more, 0u) << problem.str() << ", output " << i;
    }
  }
}

bool too_large(const Case& c) {
  return std::ranges::any_of(c.inputs,
                             [](const Shape& shape) { return shape.numel() > max_test_elements(); });
}

bool takes_nhwc(const Kernel& kernel, const Problem& problem) {
  if (kernel.layouts != Layouts::alike && kernel.layouts != Layouts::elementwise) return false;
  return std::any_of(problem.inputs.begin(), problem.inputs.end(),
                     [](const TensorType& type) { return type.shape.rank() == 4; });
}

// Small integers stay exact in every width here but bf16, whose 8 bits a sum soon outgrows.
TEST_P(CudaKernels, AgreeWithTheReference) {
  const auto& [op, kernel, part, parts] = GetParam();
  std::string why;
  if (test_gpu(&why) == nullptr) GTEST_SKIP() << "no GPU here: " << why;  // cmake/tests.cmake reads this
  if (kernel->prepare == nullptr) GTEST_SKIP() << "built without CUDA";
  for (const Case& c : GetParam().cases()) {
    if (c.tier == Tier::perf || too_large(c)) continue;
    for (DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
      const Problem problem = problem_of(*op, c, dtype);
      const bool integers = op->exact && (dtype == DType::f32 || dtype == DType::f64);
      check(*op, *kernel, c, problem, Numbers::normal);
      if (!under_sanitizer()) check(*op, *kernel, c, problem, Numbers::positive);
      if (!under_sanitizer() && integers) check(*op, *kernel, c, problem, Numbers::small_integers);
      if (dtype == DType::f32) check(*op, *kernel, c, problem, Numbers::normal, kTf32);
      if (!takes_nhwc(*kernel, problem)) continue;
      check(*op, *kernel, c, in_nhwc(problem), Numbers::normal);
      if (!under_sanitizer()) check(*op, *kernel, c, in_nhwc(problem), Numbers::positive);
      if (dtype == DType::f32) check(*op, *kernel, c, in_nhwc(problem), Numbers::normal, kTf32);
    }
  }
}

// d(sum(y * r))/dx by the graph's own gradient nodes against central differences.
TEST_P(Gradients, AgreeWithFiniteDifferences) {
  const Operator& op = *GetParam();
  for (const Case& c : op.cases) {
    if (c.tier != Tier::ci) continue;
    const Problem problem = problem_of(op, c, DType::f64);
    SCOPED_TRACE(problem.str());
    auto inputs = inputs_of(problem, c, Numbers::normal, 23);
    const GradientCheck check = check_gradient(op, problem, inputs);
    EXPECT_GT(check.compared, 0);
    EXPECT_LE(check.worst_relative_error, 1e-5) << check.where;
  }
}

std::string clean(std::string name) {
  for (char& ch : name)
    if (!std::isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return name;
}

std::vector<KernelTest> kernels_on(DeviceKind device) {
  std::vector<KernelTest> list;
  for (const Operator& op : operators())
    for (const Kernel& kernel : op.kernels) {
      if (kernel.device != device) continue;
      const std::size_t parts = kernel.candidates ? std::clamp<std::size_t>(op.cases.size(), 1, 16) : 1;
      for (std::size_t part = 0; part < parts; ++part) list.push_back({&op, &kernel, part, parts});
    }
  return list;
}

std::string kernel_name(const ::testing::TestParamInfo<KernelTest>& test) {
  const auto& [op, kernel, part, parts] = test.param;
  const std::string name = clean(op->schema.name + "_" + std::string(kernel->name));
  return parts == 1 ? name : fmt::format("{}_{}_of_{}", name, part + 1, parts);
}

std::vector<const Operator*> differentiable() {
  std::vector<const Operator*> list;
  for (const Operator& op : operators())
    if (op.schema.gradient != nullptr && !op.kernels.empty()) list.push_back(&op);
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, ::testing::ValuesIn(kernels_on(DeviceKind::cpu)), kernel_name);
INSTANTIATE_TEST_SUITE_P(All, CudaKernels, ::testing::ValuesIn(kernels_on(DeviceKind::cuda)), kernel_name);
INSTANTIATE_TEST_SUITE_P(All, Gradients, ::testing::ValuesIn(differentiable()),
                         [](const auto& test) { return clean(test.param->schema.name); });

}  // namespace operators_test
}  // namespace headroom::testing
