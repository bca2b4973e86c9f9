#include "bench/cuda/vadd_gpu.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "device/cuda/managed_memory.h"

namespace headroom {
namespace {

class CudaVadd : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    gpu_ = open_device("cuda");
  }
  std::unique_ptr<Device> gpu_;
};

// time_vadd fails if a sum is wrong.
TEST_F(CudaVadd, SumsAreRightAtOddSizes) {
  using enum VaddMemory;
  for (const VaddLaunch launch : {VaddLaunch::one_thread, VaddLaunch::one_block, VaddLaunch::full_grid})
    for (const VaddMemory memory : {copied, pinned, managed, prefetched})
      for (const std::int64_t n : {1, 2, 3, 4, 5, 255, 1023, 4099, 300'001}) {
        const VaddTiming timing = cuda::time_vadd(*gpu_, n, launch, memory);
        if (!timing.why_not.empty()) continue;
        EXPECT_GT(timing.add.median, 0) << n << timing.runs_on;
        EXPECT_GE(timing.total.median, timing.add.median) << n << timing.runs_on;
        EXPECT_EQ(timing.copy_in.samples > 0, memory != managed);
        EXPECT_GT(timing.copy_out.samples, 0);
      }
}

TEST_F(CudaVadd, SeveralLoadsInFlightCoverEveryElement) {
  for (const std::int64_t n : {5'000'000, 20'000'001, 40'000'003})
    EXPECT_EQ(cuda::time_vadd(*gpu_, n, VaddLaunch::full_grid, VaddMemory::pinned).elements, n);
}

// What is free on the card is known only if nobody else uses it.
using TimingCudaVadd = CudaVadd;
TEST_F(TimingCudaVadd, ManagedMemoryIsFreedAndNeverBeyondTheCard) {
  auto& gpu = static_cast<CudaDevice&>(*gpu_);
  if (*why_no_managed(gpu) != '\0') GTEST_SKIP() << why_no_managed(gpu);
  const std::size_t before = gpu.free_bytes_now();
  EXPECT_THROW(ManagedMemory(gpu, before + (std::size_t{1} << 30)), Error);
  EXPECT_THROW(ManagedMemory(gpu, std::size_t{1} << 60), Error);
  for (int i = 0; i < 3; ++i) cuda::time_vadd(gpu, 10'000'000, VaddLaunch::full_grid, VaddMemory::prefetched);
  EXPECT_GT(gpu.free_bytes_now() + (std::size_t{256} << 20), before) << "it was not given back";
  const std::int64_t huge[] = {static_cast<std::int64_t>(before / 8) + 1};
  EXPECT_THROW(require_vadd(huge, &gpu), Error);
}

}  // namespace
}  // namespace headroom
