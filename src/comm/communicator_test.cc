#include "comm/communicator.h"

#include <gtest/gtest.h>

#include <thread>

#include "base/shares.h"
#include "comm/progress.h"
#include "comm/world.h"

namespace headroom {
namespace {

using Kind = Collective::Kind;

TEST(Shares, CoverEverythingInOrderAndDifferByOneAtMost) {
  for (std::int64_t count : {0, 1, 2, 7, 64, 1001})
    for (int parts : {1, 2, 3, 4, 7}) {
      std::int64_t next = 0;
      for (int i = 0; i < parts; ++i) {
        const Share share = share_of(count, parts, i);
        EXPECT_EQ(share.first, next);
        EXPECT_GE(share.count, count / parts);
        EXPECT_LE(share.count, (count + parts - 1) / parts);
        next += share.count;
      }
      EXPECT_EQ(next, count);
    }
}

TEST(SelfCommunicator, LeavesEverythingAsItIsAndCountsIt) {
  const auto self = make_self_communicator();
  EXPECT_EQ(self->rank(), 0);
  EXPECT_EQ(self->size(), 1);
  double value = 4;
  self->all_reduce(&value, 1);
  self->broadcast(&value, sizeof value);
  self->barrier();
  EXPECT_EQ(value, 4);
  const Traffic traffic = self->traffic();
  EXPECT_EQ(traffic.of(Kind::all_reduce).calls, 1);
  EXPECT_EQ(traffic.of(Kind::broadcast).bytes, 8);
  EXPECT_EQ(self->split(3)->size(), 1);
}

TEST(World, IsAloneWithoutALauncher) {
  if (launched_as_one_of_several()) GTEST_SKIP() << "one of several";
  World& world = World::instance();
  EXPECT_EQ(world.size(), 1);
  EXPECT_EQ(world.local_size(), 1);
  EXPECT_EQ(world.gather("x"), std::vector<std::string>{"x"});
  world.abort(1);  // there is no other rank to end
}

TEST(DeviceForRank, RanksTakeGpusInTurnAndSayWhenTheyShare) {
  std::string warning;
  EXPECT_EQ(device_for_rank("cpu", 2, 1, 4, warning), "cpu");
  EXPECT_EQ(device_for_rank("cuda", 4, 3, 4, warning), "cuda:3");
  EXPECT_EQ(device_for_rank("cuda", 0, 3, 4, warning), "cuda");
  EXPECT_EQ(warning, "");
  EXPECT_EQ(device_for_rank("cuda", 2, 3, 4, warning), "cuda:1");
  EXPECT_NE(warning.find("4 ranks share 2 GPUs"), std::string::npos) << warning;
  warning.clear();
  EXPECT_EQ(device_for_rank("cuda:1", 2, 0, 2, warning), "cuda:1");
  EXPECT_NE(warning.find("share cuda:1"), std::string::npos) << warning;
}

// Records each operation; fails the second of three on request.
class Note final : public Progress::Work {
 public:
  void perform(const Collective& c, Progress::Clock::time_point) override {
    if (c.root == refused) throw Error(Blame::run, "refused");
    done.push_back(c.root);
  }
  std::vector<int> done;
  int refused = -1;
};

TEST(Progress, WorksInOrderWhetherItSpinsOrSleeps) {
  for (bool spin : {false, true}) {
    const auto note = std::make_shared<Note>();
    {
      Progress progress(spin);
      Progress::Ticket last = 0;
      for (int i = 0; i < 5000; ++i) {
        last = progress.start(note, {.root = i});
        if (i % 100 == 0) progress.wait(last);
        if (i % 1000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      int called = 0;
      progress.call([&] { called = static_cast<int>(note->done.size()); });
      EXPECT_EQ(called, 5000);
      progress.wait(last);
    }
    for (int i = 0; i < 5000; ++i) ASSERT_EQ(note->done[static_cast<std::size_t>(i)], i);
  }
}

TEST(Progress, AFailureStopsAllThatFollows) {
  const auto note = std::make_shared<Note>();
  note->refused = 1;
  Progress progress(false);
  const auto first = progress.start(note, {.root = 0}), second = progress.start(note, {.root = 1}),
             third = progress.start(note, {.root = 2});
  EXPECT_THROW(progress.wait(third), Error);
  EXPECT_THROW(progress.wait(second), Error);
  progress.wait(first);
  EXPECT_THROW(progress.call([] {}), Error);
  EXPECT_EQ(note->done, std::vector<int>{0});
}

TEST(Progress, WhatIsOnItsWayOutlivesWhoStartedIt) {
  Progress progress(false);
  bool gone = false;
  struct Slow final : Progress::Work {
    explicit Slow(bool& flag) : gone(flag) {}
    ~Slow() override { gone = true; }
    void perform(const Collective&, Progress::Clock::time_point) override {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      EXPECT_FALSE(gone);
    }
    bool& gone;
  };
  Progress::Ticket ticket = progress.start(std::make_shared<Slow>(gone), {});
  progress.wait(ticket);
  EXPECT_TRUE(gone);
}

}  // namespace
}  // namespace headroom
