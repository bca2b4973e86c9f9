#include "train/planned.h"

#include <gtest/gtest.h>

#include "predict/predict.h"

namespace headroom {
namespace {

bool is_vendors(const Step& step) {
  return step.kernel_name().find("cublas") != std::string_view::npos ||
         step.kernel_name().find("cudnn") != std::string_view::npos;
}

TEST(PlannedElsewhere, AGpuOfTheTableGetsGpuKernels) {
  const Machine h200 = find_machine("h200");
  for (const char* model : {"lenet5", "resnet:depth=18,input=64,classes=10"})
    for (DType dtype : {DType::f32, DType::bf16, DType::f64}) {
      const Plan plan = plan_on(h200, find_net(model), {.batch = 16, .dtype = dtype});
      ASSERT_FALSE(plan.steps.empty());
      for (const Step& step : plan.steps) {
        ASSERT_NE(step.kernel, nullptr) << step.problem.str() << ": " << step.why;
        EXPECT_EQ(step.kernel->device, DeviceKind::cuda);
      }
      const Prediction p = predict(plan, h200);
      EXPECT_TRUE(p.has_times);
      EXPECT_GE(p.predicted_s, p.floor_s);
    }
}

TEST(PlannedElsewhere, AnOldGpuGetsTheVendorsKernelsOrNone) {
  const Machine k80 = find_machine("k80");
  const Plan plan = plan_on(k80, find_net("lenet5"), {.mode = Mode::eval, .batch = 4});
  int vendors = 0;
  for (const Step& step : plan.steps) {
    EXPECT_TRUE(step.kernel == nullptr || is_vendors(step)) << step.kernel_name();
    vendors += is_vendors(step);
  }
  EXPECT_GT(vendors, 0);
  EXPECT_GT(predict(plan, k80).predicted_s, 0);
}

TEST(PlannedElsewhere, ACpuGetsItsOwn) {
  Machine cpu;
  cpu.kind = "cpu";
  cpu.levels = {{.name = "memory", .bytes = 1e9, .bytes_per_s = 1e10}};
  for (const Step& step : plan_on(cpu, find_net("lenet5"), {.batch = 4}).steps)
    EXPECT_EQ(step.kernel->device, DeviceKind::cpu);
}

}  // namespace
}  // namespace headroom
