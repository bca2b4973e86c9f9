// The CPU kernels of every level that this processor has, against the reference.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "device/cpu/levels.h"
#include "ops/testing/harness.h"

namespace headroom::testing {
namespace levels_test {

// Other tests run the level that is used without a name.
std::vector<std::string> other_levels() {
  std::vector<std::string> names;
  for (const CpuLevel& level : cpu_levels())
    if (level.here && level.name != used_cpu_level().name) names.emplace_back(level.name);
  return names;
}

class CpuLevelKernels : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { use_cpu_level(GetParam()); }
  void TearDown() override { use_cpu_level(usual_); }

 private:
  const std::string usual_{used_cpu_level().name};
};

// Large cases take long without wide vectors and show nothing that small ones do not.
bool is_small(const Case& c) {
  constexpr std::int64_t kMaxElements = 10'000;
  return c.tier != Tier::perf &&
         std::ranges::all_of(c.inputs, [](const Shape& shape) { return shape.numel() <= kMaxElements; });
}

int check(const Operator& op, const Case& c, DType dtype) {
  const Problem problem = problem_of(op, c, dtype);
  const std::vector<Values> inputs = inputs_of(problem, c, Numbers::normal, 17);
  std::optional<Run> want;
  int ran = 0;
  for (const Kernel& kernel : op.kernels) {
    if (kernel.device != DeviceKind::cpu || kernel.vendor || kernel.name == "reference") continue;
    if (!accepts(kernel, problem, cpu_capabilities()).ok) continue;
    SCOPED_TRACE(fmt::format("{} by {}", problem.str(), kernel.name));
    if (!want) want = run_kernel(reference_of(op), widened(problem), inputs);
    const Run got = run_kernel(kernel, problem, inputs);
    ++ran;
    EXPECT_TRUE(got.guards_intact) << "wrote outside its buffers";
    for (std::size_t i = 0; i < got.outputs.size(); ++i) {
      const Comparison comparison = compare(problem, i, got.outputs[i], want->outputs[i], false);
      EXPECT_LE(comparison.worst_ratio, 1) << comparison.where;
    }
  }
  return ran;
}

TEST_P(CpuLevelKernels, AgreeWithTheReference) {
  EXPECT_EQ(cpu_capabilities().vector_bytes, used_cpu_level().vector_bytes);
  int ran = 0;
  for (const Operator& op : operators())
    for (const Case& c : op.cases)
      if (is_small(c))
        for (DType dtype : {DType::f32, DType::f64}) ran += check(op, c, dtype);
  EXPECT_GT(ran, 1000);
}

TEST_P(CpuLevelKernels, AreNotThoseOfAnotherLevel) {
  const Kernel* here = &operator_of("linear").kernels.front();
  use_cpu_level(cpu_levels().back().here ? cpu_levels().back().name : cpu_levels().front().name);
  if (used_cpu_level().name == GetParam()) GTEST_SKIP() << "there is no other level";
  EXPECT_NE(&operator_of("linear").kernels.front(), here);
}

// Exceptions pass through code that the linker has joined.
TEST(CpuLevelErrors, AreCaughtOutsideTheLevel) {
  const std::string usual(used_cpu_level().name);
  for (const CpuLevel& level : cpu_levels()) {
    if (!level.here) continue;
    use_cpu_level(level.name);
    EXPECT_THROW(operator_of("where").schema.infer({}, {}), Error) << level.name;
  }
  use_cpu_level(usual);
}

INSTANTIATE_TEST_SUITE_P(All, CpuLevelKernels, ::testing::ValuesIn(other_levels()),
                         [](const auto& test) { return test.param; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(CpuLevelKernels);

}  // namespace levels_test
}  // namespace headroom::testing
