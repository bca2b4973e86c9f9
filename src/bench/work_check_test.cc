#include "bench/work_check.h"

#include <gtest/gtest.h>

#include <set>

#include "base/testing/bad_input.h"
#include "bench/operator_node.h"
#include "ops/testing/harness.h"

namespace headroom {
namespace {

Capabilities hopper() {
  return {.kind = DeviceKind::cuda,
          .compute_capability = 90,
          .multiprocessors = 132,
          .memory_bytes = std::size_t{140} << 30};
}

using KernelOfOperator = std::pair<std::string, std::string>;

std::set<KernelOfOperator> kernels_in(const std::vector<WorkCase>& cases) {
  std::set<KernelOfOperator> set;
  for (const WorkCase& c : cases) set.emplace(c.problem.op, c.kernel->name);
  return set;
}

// Some kernels stand in the list of an operator only to say why they refuse it.
bool accepts_any_case(const Operator& op, const Kernel& kernel) {
  for (const Case& c : op.cases)
    for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16})
      for (const bool tf32 : {false, true})
        if (accepts(kernel, testing::problem_of(op, c, dtype), Target(hopper(), {.tf32 = tf32})).ok)
          return true;
  return false;
}

TEST(WorkCases, NameEveryKernelOfOursAndNoLibrary) {
  const std::set<KernelOfOperator> found = kernels_in(work_cases(hopper(), {}, CaseSize::any));
  EXPECT_GT(found.size(), 250u);
  for (const Operator& op : operators()) {
    if (op.schema.is_view || op.schema.collective) continue;
    for (const Kernel& kernel : op.kernels) {
      if (kernel.device != DeviceKind::cuda) continue;
      EXPECT_EQ(found.contains({op.schema.name, std::string(kernel.name)}),
                !kernel.vendor && accepts_any_case(op, kernel))
          << op.schema.name << " " << kernel.name;
    }
  }
}

TEST(WorkCases, AreTheLargestAndAcceptedInEveryPrecision) {
  const std::vector<WorkCase> any = work_cases(hopper(), {"gemm", "relu"}, CaseSize::any),
                              small = work_cases(hopper(), {"gemm", "relu"}, CaseSize::small);
  std::set<std::string> precisions;
  for (const WorkCase& c : any) {
    EXPECT_TRUE(accepts(*c.kernel, c.problem, c.target).ok) << c.kernel->name;
    EXPECT_EQ(c.target.policy.tf32, c.precision == "tf32");
    if (c.kernel->name == "cuda:tiles") precisions.insert(c.precision);
    if (c.problem.op == "relu") {
      EXPECT_EQ(c.problem.inputs[0].shape.numel(), 100'000'000) << "more than a cache holds";
      EXPECT_NE(c.precision, "tf32") << "the same as fp32 where there are no products";
    }
  }
  EXPECT_EQ(precisions, (std::set<std::string>{"fp32", "tf32", "fp64", "fp16", "bf16"}));
  for (const WorkCase& c : small) EXPECT_NE(c.of.tier, Tier::perf);
  testing::expect_rejected([] { work_cases(hopper(), {"gem"}, CaseSize::any); }, {"gem"});
}

// The node that is counted computes what the case asks for, on any device.
TEST(WorkCases, ANodeRunsItsCase) {
  const auto device = open_device("cpu", 1);
  for (const char* name : {"relu", "gather", "batch_norm"}) {
    const Operator& op = operator_of(name);
    for (const Case& c : op.cases) {
      if (c.tier == Tier::perf) continue;
      const OperatorNode node(*device, op, c, DType::f32, device->capabilities(), first_that_accepts, false);
      EXPECT_EQ(node.step().problem.op, name);
      for (std::size_t i = 0; i < c.inputs.size(); ++i)
        EXPECT_EQ(node.step().problem.inputs[i].shape, c.inputs[i]);
    }
  }
}

}  // namespace
}  // namespace headroom
