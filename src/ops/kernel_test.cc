#include "ops/kernel.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(Kernel, ARefusalNamesOnlyKernelsOfItsOperator) {
  Target target = cpu_capabilities(1);
  target.device.bf16_products = target.device.bf16_tiles = false;
  for (const char* op : {"linear", "matmul", "conv2d", "conv2d_grad_input", "conv2d_grad_weight"}) {
    const Problem problem{.op = op, .inputs = {}, .outputs = {{{8, 8}, DType::f32}}, .attrs = {}};
    const bool product = std::string_view(op).find("conv") == std::string_view::npos;
    for (const auto accepts_it : {accepts_cpu_bf16, accepts_cpu_bf16x6}) {
      const Verdict verdict = accepts_it(problem, target);
      EXPECT_FALSE(verdict.ok) << op;
      EXPECT_EQ(verdict.reason.find("cpu:packed") != std::string::npos, product) << op << verdict.reason;
    }
  }
}

}  // namespace
}  // namespace headroom
