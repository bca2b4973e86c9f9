// A rank that is late: the others wait for it, and the transfer takes no longer. RanksProfile starts the
// suite LateRank under mpirun.
#include <gtest/gtest.h>

#include <thread>

#include "models/zoo.h"
#include "profile/gather_traces.h"
#include "profile/profiler.h"
#include "report/profile.h"
#include "support/ranks.h"
#include "train/trainer.h"

namespace headroom {
namespace {

constexpr std::int64_t kBatch = 32, kSteps = 12;
constexpr double kLate = 5e-3;  // seconds

Dataset random_digits() {
  Dataset data{.name = "random"};
  data.classes = 10;
  for (Split* split : {&data.train, &data.test}) {
    split->image = Shape({1, 28, 28});
    for (std::int64_t i = 0; i < 20 * kBatch; ++i) split->labels.push_back(static_cast<std::uint8_t>(i % 10));
    split->pixels.assign(split->labels.size() * 784, 100);
  }
  return data;
}

// Sleeps at the begin of every step, on one rank.
class Sleeper final : public Recorder {
 public:
  explicit Sleeper(double seconds) : seconds_(seconds) {}
  void begin(std::size_t step, Stream&) override {
    if (step == 0 && seconds_ > 0) std::this_thread::sleep_for(std::chrono::duration<double>(seconds_));
  }
  void end(std::size_t, Stream&) override {}

 private:
  double seconds_;
};

class LateRank : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::ranks_mode() != "late")
      GTEST_SKIP() << "runs under mpirun, by the tests TimingRanksProfile.*";
  }
  // The parts of a step on every rank, if the last one sleeps at each.
  std::vector<StepParts> parts_with(double late_s) {
    World& world = World::instance();
    const auto cpu = open_device("cpu", 1);
    const auto data = world.communicator().split(0), alone = make_self_communicator();
    Distribution ranks;
    ranks.data_parts = world.size(), ranks.data_index = world.rank();
    Groups groups(ranks, world.communicator(), *data, *alone);
    EngineOptions options;
    options.groups = &groups;
    Engine engine(find_net("mlp:hidden=64"), *cpu, options);
    Profiler profiler(kSteps);
    TrainOptions train;
    train.batch = kBatch, train.epochs = 2, train.lr = 0.01;
    StepWatch& watch = profiler.watch(*cpu, ready_to_train(engine, kBatch).plan(), world.rank());
    Sleeper sleeper(world.rank() + 1 == world.size() ? late_s : 0);
    watch.recorders.push_back(&sleeper);
    train.watch = &watch;
    TrainObserver nobody;
    headroom::train(engine, random_digits(), train, nobody);
    const Trace all = gather_traces(profiler.finish(), profiler.origin_ns(), groups);
    std::vector<StepParts> parts;
    for (int rank = 0; rank < world.size(); ++rank) parts.push_back(step_parts(all, rank));
    return parts;
  }
};

// Empty if the reading is right: rank 0 waits for the last rank by as much as that one is late, moving the
// data takes no longer, and the last rank waits for nobody.
std::string wrong_with(const std::vector<StepParts>& plain, const std::vector<StepParts>& late) {
  const double more = late[0].waiting - plain[0].waiting, longer = late[0].transfer - plain[0].transfer;
  const bool right =
      more > 0.8 * kLate && more < 1.5 * kLate && longer < 0.3 * kLate && late.back().waiting < 0.3 * kLate;
  if (right) return {};
  return fmt::format("rank 0 waits {} ms more, transfers {} ms longer; the last rank waits {} ms", more * 1e3,
                     longer * 1e3, late.back().waiting * 1e3);
}

// On a busy machine the system may stop a rank for longer than it sleeps, so one quiet attempt is enough. All
// ranks have the traces of all: they agree on whether there is another.
TEST_F(LateRank, TheOthersWaitForIt) {
  std::string wrong = "nothing was measured";
  for (int attempt = 0; attempt < 20 && !wrong.empty(); ++attempt) {
    const auto plain = parts_with(0), late = parts_with(kLate);
    wrong = wrong_with(plain, late);
    for (const StepParts& p : late) EXPECT_NEAR(p.sum(), p.step, 0.01 * p.step);
  }
  EXPECT_EQ(wrong, "");
}

TEST(TimingRanksProfile, ALateRankIsFound) {
  if (const std::string why = testing::why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
  const testing::Outcome outcome = testing::run_tests_in_ranks(2, "LateRank.*", "late");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out.find("SKIPPED"), outcome.out.npos) << outcome.out;
}

}  // namespace
}  // namespace headroom
