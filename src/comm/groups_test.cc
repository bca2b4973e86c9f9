#include "comm/groups.h"

#include <gtest/gtest.h>

#include "comm/testing/delayed_communicator.h"

namespace headroom {
namespace {

using testing::DelayedCommunicator;

// One process that acts as the first of two, behind links of known delay.
struct GroupsTest : ::testing::Test {
  static constexpr double kLatency = 0.02, kRate = 1e6;  // 20 ms and 1 MB/s

  std::unique_ptr<Communicator> world_ = make_self_communicator();
  DelayedCommunicator data_{make_self_communicator(), kLatency, kRate},
      model_{make_self_communicator(), kLatency, kRate};
  Groups groups_{Distribution{.data_parts = 2, .model_parts = 2}, *world_, data_, model_};
  std::vector<float> values_ = std::vector<float>(2500, 1.0F);  // 10 ms

  Collective sum() {
    return {.kind = Collective::Kind::all_reduce, .data = values_.data(), .count = 2500, .dtype = DType::f32};
  }
  static void work(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }
};

// Sleeping and waiting can only take longer than requested, so each bound is on the side that cannot fail by
// chance.
TEST_F(GroupsTest, WaitingIsExposedAndWorkHidesIt) {
  groups_.run(kDataGroup, sum());
  const double alone = groups_.exposed_seconds();
  EXPECT_GE(alone, 0.029);
  int key = 0;
  groups_.start(kDataGroup, sum(), &key);
  work(0.09);
  groups_.finish(&key);
  EXPECT_LT(groups_.exposed_seconds() - alone, 0.03) << "the exchange was over before it was waited for";
}

TEST_F(GroupsTest, AKeyMayStandForSeveralWhichFollowEachOther) {
  int both = 0, other = 0;
  groups_.start(kDataGroup, sum(), &both);
  groups_.start(kDataGroup, sum(), &both);
  groups_.start(kModelGroup, sum(), &other);  // uses its own link
  groups_.finish(&both);
  EXPECT_GE(groups_.exposed_seconds(), 0.059);
  const double before = groups_.exposed_seconds();
  groups_.finish(&other);
  EXPECT_LT(groups_.exposed_seconds() - before, 0.02);
  groups_.finish(&other);  // nothing is left to wait for
}

TEST_F(GroupsTest, TrafficIsThatOfBothGroups) {
  groups_.run(kDataGroup, sum());
  groups_.run(kModelGroup, sum());
  const Traffic traffic = groups_.traffic();
  EXPECT_EQ(traffic.of(Collective::Kind::all_reduce).calls, 2);
  EXPECT_EQ(traffic.of(Collective::Kind::all_reduce).bytes, 2 * 10'000);
  EXPECT_NEAR(traffic.of(Collective::Kind::all_reduce).seconds, 0.06, 1e-9);
}

TEST_F(GroupsTest, ParallelPartsAreNamed) {
  EXPECT_EQ(groups_.parts(kDataGroup), 2);
  EXPECT_EQ(&groups_.of(kModelGroup), &model_);
  EXPECT_EQ(&groups_.of(kDataGroup), &data_);
  EXPECT_FALSE(groups_.captures());
  EXPECT_TRUE(groups_.is_first());
}

}  // namespace
}  // namespace headroom
