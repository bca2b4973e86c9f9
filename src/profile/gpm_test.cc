#include "profile/gpm.h"

#include <gtest/gtest.h>

#include <cstddef>

namespace headroom {
namespace {

// A driver that keeps a log.
struct FakeNvml {
  unsigned supported = 1;
  int take_result = 0, tensor_result = 0;
  int alive = 0, taken = 0;
};
FakeNvml fake;
int handles[2];

GpmCalls fake_calls() {
  fake = {};
  return {.support =
              [](void*, GpmCalls::Support* support) {
                support->is_supported = fake.supported;
                return support->version == 1 ? 0 : 1;
              },
          .allocate =
              [](void** sample) {
                *sample = &handles[fake.alive++ % 2];
                return 0;
              },
          .free =
              [](void*) {
                --fake.alive;
                return 0;
              },
          .take =
              [](void*, void*) {
                ++fake.taken;
                return fake.take_result;
              },
          .compare =
              [](GpmCalls::Metrics* all) {
                if (all->version != 1 || all->first == all->second) return 1;
                for (unsigned m = 0; m < all->count; ++m) {
                  GpmCalls::Metric& metric = all->metrics[m];
                  metric.value = 10.0 * metric.id;
                  if (metric.id == 5) metric.result = fake.tensor_result;
                }
                return 0;
              }};
}

class Gpm : public ::testing::Test {
 protected:
  std::optional<GpmUse> measure() {
    return measure_gpm(
        calls_, &handles, [&] { taken_before_work_ = fake.taken; }, why_not_);
  }
  GpmCalls calls_ = fake_calls();
  std::string why_not_ = "unset";
  int taken_before_work_ = -1;
};

TEST_F(Gpm, WorkRunsBetweenTwoSamples) {
  const std::optional<GpmUse> use = measure();
  ASSERT_TRUE(use);
  EXPECT_EQ(taken_before_work_, 1);
  EXPECT_EQ(fake.taken, 2);
  EXPECT_EQ(fake.alive, 0) << "samples are given back";
  EXPECT_EQ(use->sm, 20.0);
  EXPECT_EQ(use->occupancy, 30.0);
  EXPECT_EQ(use->tensor, 50.0);
  EXPECT_EQ(use->dram, 100.0);
  EXPECT_EQ(why_not_, "");
}

TEST_F(Gpm, AFigureThatTheGpuDoesNotTellIsLeftOut) {
  fake.tensor_result = 3;
  const std::optional<GpmUse> use = measure();
  ASSERT_TRUE(use);
  EXPECT_FALSE(use->tensor);
  EXPECT_TRUE(use->dram);
}

TEST_F(Gpm, AnOlderGpuSaysSo) {
  fake.supported = 0;
  EXPECT_FALSE(measure());
  EXPECT_NE(why_not_.find("since Hopper"), std::string::npos);
  EXPECT_EQ(taken_before_work_, -1) << "nothing runs in vain";
}

TEST_F(Gpm, AFailedReadingSaysSo) {
  fake.take_result = 999;
  EXPECT_FALSE(measure());
  EXPECT_NE(why_not_.find("could not read"), std::string::npos);
  EXPECT_EQ(fake.alive, 0);
}

TEST_F(Gpm, WithoutADriverTheReasonIsSaid) {
  if (measure_gpm(
          "cuda:0", [] {}, why_not_))
    GTEST_SKIP() << "this machine has a driver and a GPU that tells";
  EXPECT_NE(why_not_, "");
}

// As the driver's library lays them out.
TEST(GpmLayout, FieldsLieWhereNvmlHasThem) {
  EXPECT_EQ(sizeof(GpmCalls::Metric), 40u);
  EXPECT_EQ(offsetof(GpmCalls::Metric, value), 8u);
  EXPECT_EQ(offsetof(GpmCalls::Metrics, first), 8u);
  EXPECT_EQ(offsetof(GpmCalls::Metrics, metrics), 24u);
}

}  // namespace
}  // namespace headroom
