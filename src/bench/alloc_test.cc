#include "bench/alloc.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "models/zoo.h"

namespace headroom {
namespace {

// On the CPU, and on a GPU where there is one.
class BenchAllocs : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (std::string(GetParam()) == "cuda")
      if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    device_ = open_device(GetParam());
  }
  static void silent(const std::string&) {}
  std::unique_ptr<Device> device_;
};
INSTANTIATE_TEST_SUITE_P(Devices, BenchAllocs, ::testing::Values("cpu", "cuda"),
                         [](const auto& device) { return std::string(device.param); });

TEST_P(BenchAllocs, FreshAndReusedBuffersGiveTheSameProduct) {
  for (const DType precision : {DType::f32, DType::f64}) {
    EngineOptions options;
    options.precision = precision;
    const std::vector<ProductSize> sizes = {{1, 1, 1}, {3, 1, 5}, {17, 33, 9}, {80, 10, 100}};
    require_products(*device_, precision, sizes);
    const auto timings = bench_products(*device_, options, sizes, silent);  // fails if a product is wrong
    ASSERT_EQ(timings.size(), 2 * sizes.size());
    for (std::size_t i = 0; i < timings.size(); ++i) {
      const ProductTiming& t = timings[i];
      EXPECT_EQ(t.fresh, i % 2 == 0);
      EXPECT_EQ(t.size.m, sizes[i / 2].m);
      EXPECT_EQ(t.allocate.samples > 0, t.fresh);
      EXPECT_EQ(t.free.samples > 0, t.fresh);
      EXPECT_GT(t.kernel.samples, 0);
      // Parts are medians of their own, so that they add up only about.
      EXPECT_GE(t.total.max, t.kernel.min);
    }
  }
}

TEST_P(BenchAllocs, AStepThroughTheHostHasCopiesAndOneOnTheDeviceHasNone) {
  const auto timings = bench_steps(*device_, {}, find_net("mlp:hidden=16"), 32, silent);
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_GT(timings[0].copy_in.median, 0);
  EXPECT_GT(timings[0].copy_out.median, 0);
  EXPECT_EQ(timings[1].copy_in.median, 0);
  for (const StepTiming& t : timings) {
    EXPECT_GT(t.kernel.median, 0);
    EXPECT_GE(t.host.median, 0);
    EXPECT_LE(t.kernel.min, t.total.max);
  }
}

TEST(BenchAllocSizes, AreRefusedBeforeAnythingIsAllocated) {
  const auto cpu = open_device("cpu");
  const auto message = [&](ProductSize size) -> std::string {
    try {
      require_products(*cpu, DType::f64, {size});
    } catch (const Error& error) {
      return std::string(error.what()) + " / " + error.hint();
    }
    return "accepted";
  };
  EXPECT_EQ(message({800, 1000, 784}), "accepted");
  EXPECT_NE(message({0, 1, 1}).find("`m` is 0; it must be at least 1"), std::string::npos);
  EXPECT_NE(message({1, -2, 1}).find("`n` is -2"), std::string::npos);
  EXPECT_NE(message({1, 1, 0}).find("`k` is 0"), std::string::npos);
  const std::string huge = message({4'000'000'000'000, 4'000'000'000'000, 1});
  EXPECT_NE(huge.find("host memory"), std::string::npos) << huge;
  EXPECT_NE(huge.find("rows and columns of square matrices fit"), std::string::npos) << huge;
}

}  // namespace
}  // namespace headroom
