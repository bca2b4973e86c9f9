// Collectives among processes. The suite Ranks starts the suites InRanks… under mpirun.
#include <gtest/gtest.h>

#include "base/testing/allocations.h"
#include "comm/mpi_communicator.h"
#include "support/collectives.h"
#include "support/ranks.h"

namespace headroom {
namespace {

using testing::check_kinds, testing::check_types, testing::of, testing::ranks_mode, testing::values;
using Kind = Collective::Kind;

// All ranks must end MPI, after all tests.
class EndOfRanks : public ::testing::Environment {
 public:
  void TearDown() override {
    if (!ranks_mode().empty()) World::instance().finish();
  }
};
[[maybe_unused]] const ::testing::Environment* const kEnd =
    ::testing::AddGlobalTestEnvironment(new EndOfRanks);

class InRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (ranks_mode() != "1") GTEST_SKIP() << "runs under mpirun, by the tests Ranks.*";
  }
  World& world() const { return World::instance(); }
  Communicator& all() const { return world().communicator(); }
  int rank() const { return all().rank(); }
  int size() const { return all().size(); }
};

TEST_F(InRanks, EveryKindOfEveryTypeAndSize) {
  EXPECT_EQ(all().kind(), size() == 1 ? "self" : "mpi");
  for (std::int64_t count : {0, 1, 2, 3, 5, 64, 1000, 40'007}) check_types(all(), count);
  check_kinds<float>(all(), (9 << 20) / 4 + 1);
}

TEST_F(InRanks, WhatIsTooLongForOneCallGoesInPieces) {
  auto* communicator = dynamic_cast<MpiCommunicator*>(&all());
  if (communicator == nullptr) return;
  communicator->link()->limit(7);
  for (std::int64_t count : {6, 7, 8, 14, 50}) check_types(all(), count);
  communicator->link()->limit(1 << 30);
}

TEST_F(InRanks, GroupsWorkApartAndInTheOrderTheyAreStarted) {
  const auto halves = all().split(rank() % 2), same = all().split(7), alone = all().split(rank());
  EXPECT_EQ(halves->size(), (size() + (rank() % 2 == 0 ? 1 : 0)) / 2);
  EXPECT_EQ(halves->rank(), rank() / 2);
  EXPECT_EQ(same->size(), size());
  EXPECT_EQ(same->rank(), rank());
  EXPECT_EQ(alone->size(), 1);
  for (Communicator* c : {halves.get(), same.get(), alone.get()}) check_types(*c, 11);
  check_types(*halves->split(0), 5);
  // Without waits in between: on the whole, on a part, on the whole again.
  std::vector<double> a(3, 1), b(3, 1), c(3, 1);
  const auto first = all().start(of(Kind::all_reduce, a)), second = halves->start(of(Kind::all_reduce, b)),
             third = all().start(of(Kind::all_reduce, c));
  all().wait(third), halves->wait(second), all().wait(first);
  EXPECT_EQ(a, std::vector<double>(3, size()));
  EXPECT_EQ(b, std::vector<double>(3, halves->size()));
  EXPECT_EQ(c, a);
}

TEST_F(InRanks, ManyAreInFlightAndWaitedForInAnyOrder) {
  constexpr int kMany = 3000;
  std::vector<std::vector<std::int64_t>> buffers;
  for (int i = 0; i < kMany; ++i) buffers.push_back(values<std::int64_t>(rank(), 1 + i % 17));
  std::vector<Communicator::Ticket> tickets;
  for (auto& buffer : buffers) tickets.push_back(all().start(of(Kind::all_reduce, buffer)));
  for (int i = kMany - 1; i >= 0; i -= 2) all().wait(tickets[static_cast<std::size_t>(i)]);
  for (int i = 0; i < kMany; i += 2) all().wait(tickets[static_cast<std::size_t>(i)]);
  for (const auto& buffer : buffers) ASSERT_EQ(buffer[0], size() * (size() + 1) / 2);
}

TEST_F(InRanks, TrafficIsCountedByKind) {
  const auto own = all().split(0);
  std::vector<float> v(1000, 1.0F);
  for (int i = 0; i < 3; ++i) own->run(of(Kind::all_reduce, v));
  own->run(of(Kind::all_gather, v));
  own->barrier();
  const Traffic traffic = own->traffic();
  EXPECT_EQ(traffic.of(Kind::all_reduce).calls, 3);
  EXPECT_EQ(traffic.of(Kind::all_reduce).bytes, 12'000);
  EXPECT_EQ(traffic.of(Kind::all_gather).bytes, 4'000);
  EXPECT_EQ(traffic.of(Kind::barrier).calls, 1);
  EXPECT_EQ(traffic.of(Kind::broadcast).calls, 0);
  if (size() > 1) {
    EXPECT_GT(traffic.of(Kind::all_reduce).seconds, 0);
  }
  EXPECT_EQ(traffic.copy_seconds, 0);
}

TEST_F(InRanks, StartingAndWaitingAllocatesNothing) {
  std::vector<float> v(5000, 0.0F);
  all().run(of(Kind::all_reduce, v)), all().run(of(Kind::all_gather, v));
  EXPECT_EQ(testing::count_allocations([&] {
              for (int i = 0; i < 20; ++i) {
                const auto a = all().start(of(Kind::all_reduce, v)), b = all().start(of(Kind::all_gather, v));
                all().wait(b), all().wait(a);
              }
            }),
            0);
}

TEST_F(InRanks, TextsOfAllRanksComeTogether) {
  auto text_of = [](int r) {
    return fmt::format("rank {} says {}", r, std::string(std::size_t(r) * 100, '.'));
  };
  const std::vector<std::string> texts = world().gather(text_of(rank()));
  ASSERT_EQ(texts.size(), static_cast<std::size_t>(size()));
  for (int r = 0; r < size(); ++r) EXPECT_EQ(texts[static_cast<std::size_t>(r)], text_of(r));
  for (const std::string& text : world().gather("")) EXPECT_EQ(text, "");
  EXPECT_EQ(world().local_rank(), rank());
  EXPECT_EQ(world().local_size(), size());
}

TEST_F(InRanks, WhatCannotBeDoneIsRefusedBeforeItIsStarted) {
  if (size() == 1) return;
  std::vector<std::uint8_t> v(8);
  Collective c{.kind = Kind::all_reduce, .data = v.data(), .count = 4, .dtype = DType::bf16};
  EXPECT_THROW(all().start(c), Error);
  c.kind = Kind::broadcast;
  all().run(c);  // moved unchanged
  c.root = size();
  EXPECT_THROW(all().start(c), Error);
  c.root = 0, c.count = -1;
  EXPECT_THROW(all().start(c), Error);
  all().barrier();  // the ranks still work
}

class InRanksBroken : public ::testing::Test {};

// Ranks disagree on a length: MPI's own message, with the name of the call, now and in all later calls.
TEST_F(InRanksBroken, AnErrorOfMpiIsNamedAndLasts) {
  if (ranks_mode() != "error") GTEST_SKIP() << "runs under mpirun, by the tests Ranks.*";
  Communicator& all = World::instance().communicator();
  std::vector<std::uint8_t> v(1000);
  if (all.rank() == 0) {
    all.broadcast(v.data(), 1000);
    v.resize(1);
    all.broadcast(v.data(), 1);
    all.barrier();  // no other rank arrives
  }
  for (int again = 0; again < 2; ++again) try {
      all.broadcast(v.data(), 10);
      ADD_FAILURE() << "not noticed";
    } catch (const Error& error) {
      fmt::print(stderr, "caught {}\n", error.what());
    }
  World::instance().abort(7);
}

TEST_F(InRanksBroken, OneRankEndsAll) {
  if (ranks_mode() != "abort") GTEST_SKIP() << "runs under mpirun, by the tests Ranks.*";
  World& world = World::instance();
  if (world.rank() == world.size() - 1) world.abort(9);
  world.communicator().barrier();
  ADD_FAILURE() << "the barrier was passed";
}

class RanksThatFail : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = testing::why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
  }
};

class Ranks : public RanksThatFail, public ::testing::WithParamInterface<int> {};

TEST_P(Ranks, CollectivesGiveTheExactResults) {
  const testing::Outcome outcome = testing::run_tests_in_ranks(GetParam(), "InRanks.*");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  std::size_t passed = 0;
  for (std::size_t at = 0; (at = outcome.out.find("[  PASSED  ]", at)) != std::string::npos; ++at) ++passed;
  EXPECT_EQ(passed, static_cast<std::size_t>(GetParam())) << outcome.out;
  EXPECT_EQ(outcome.out.find("SKIPPED"), std::string::npos) << outcome.out;
}
INSTANTIATE_TEST_SUITE_P(OneToFour, Ranks, ::testing::Range(1, 5));

TEST_F(RanksThatFail, AnErrorOfMpiSaysWhichCall) {
  const testing::Outcome outcome = testing::run_tests_in_ranks(2, "InRanksBroken.*", "error", 30);
  EXPECT_EQ(outcome.code, 7) << outcome.out << outcome.err;
  const std::size_t first = outcome.err.find("caught MPI_Bcast: MPI_ERR_TRUNCATE");
  ASSERT_NE(first, std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("caught MPI_Bcast: MPI_ERR_TRUNCATE", first + 1), std::string::npos);
}

TEST_F(RanksThatFail, OneEndsTheOthers) {
  const testing::Outcome outcome = testing::run_tests_in_ranks(3, "InRanksBroken.*", "abort", 30);
  EXPECT_EQ(outcome.code, 9) << outcome.out << outcome.err;
  EXPECT_EQ(outcome.out.find("was passed"), std::string::npos);
}

}  // namespace
}  // namespace headroom
