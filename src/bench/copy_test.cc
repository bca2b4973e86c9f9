#include "bench/copy.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "machine/roofline.h"

namespace headroom {
namespace {

Machine small_machine() {
  return {.name = "x",
          .kind = "cpu",
          .levels = {{.name = "memory", .bytes = 1e10, .bytes_per_s = 2e10, .one_core_bytes_per_s = 1e10}}};
}

TEST(BenchCopies, EverySizeByOneThreadAndByAll) {
  const auto device = open_device("cpu", 2);
  int stages = 0;
  const auto timings = bench_copies(*device, small_machine(), 300'000, [&](const std::string&) { ++stages; });
  EXPECT_EQ(stages, 4);  // 4, 16, 64 and 256 KiB
  ASSERT_EQ(timings.size(), 8u);
  for (std::size_t i = 0; i < timings.size(); ++i) {
    const CopyTiming& t = timings[i];
    EXPECT_EQ(t.bytes, 4096 << 2 * (i / 2));
    EXPECT_EQ(t.memory, i % 2 == 0 ? "1 thread" : "2 threads");
    EXPECT_GE(t.seconds.samples, 7);
    EXPECT_NEAR(t.bytes_per_s() * t.seconds.median, double(t.bytes), 1e-6 * double(t.bytes));
    EXPECT_EQ(t.ceiling, i % 2 == 0 ? 0.5e10 : 1e10);  // a copy reads and writes
  }
}

TEST(BenchCopies, RefusesSizesOutOfRangeBeforeAllocating) {
  const auto device = open_device("cpu");
  const auto message = [&](std::int64_t bytes) -> std::string {
    try {
      require_copies(*device, bytes);
    } catch (const Error& error) {
      return std::string(error.what()) + " / " + error.hint();
    }
    return "accepted";
  };
  EXPECT_EQ(message(4096), "accepted");
  EXPECT_NE(message(4095).find("`max-bytes` is 4095; it must lie between 4096 and"), std::string::npos);
  EXPECT_NE(message(-1).find("must lie between"), std::string::npos);
  EXPECT_NE(message((std::int64_t{1} << 36) + 1).find("64 GiB"), std::string::npos);
}

TEST(BenchCopies, TheTableKnowsTheLinkOfACardByItsName) {
  EXPECT_EQ(link_of_table("NVIDIA H200"), find_machine("h200").host_link.bytes_per_s);
  EXPECT_GT(link_of_table("NVIDIA H200 NVL"), 0);
  EXPECT_EQ(link_of_table("NVIDIA GeForce RTX 4090"), 32e9);
  EXPECT_EQ(link_of_table("NVIDIA GeForce RTX 2070"), 16e9);
  EXPECT_EQ(link_of_table("NVIDIA H2"), 0);
  EXPECT_EQ(link_of_table("NVIDIA H2000"), 0);
  EXPECT_EQ(link_of_table("Neoverse-V1"), 0);
  EXPECT_EQ(link_of_table(""), 0);
}

class CudaCopies : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    gpu_ = open_device("cuda");
  }
  std::unique_ptr<Device> gpu_;
};

// bench_copies fails if a copy differs from its source.
TEST_F(CudaCopies, EveryPathArrives) {
  const auto timings = bench_copies(*gpu_, here_gpu_or_measure(*gpu_), 1 << 20, [](const std::string&) {});
  ASSERT_EQ(timings.size(), 5u * 5);
  for (const CopyTiming& t : timings) {
    EXPECT_GT(t.seconds.median, 0) << t.path << t.memory;
    EXPECT_GT(t.ceiling, 0) << t.path << t.memory;
  }
}

}  // namespace
}  // namespace headroom
