// Collectives in GPU memory. CudaRanks starts the suite CudaInRanks under mpirun; with fewer GPUs than ranks
// they share GPUs.
#include <gtest/gtest.h>

#include "support/collectives.h"
#include "support/ranks.h"

namespace headroom {
namespace {

using Kind = Collective::Kind;

class CudaInRanks : public ::testing::Test {
 protected:
  void SetUp() override {
    if (testing::ranks_mode() != "cuda") GTEST_SKIP() << "runs under mpirun, by the tests CudaRanks.*";
    std::string warning;
    device_ = open_device(device_for_rank("cuda", static_cast<int>(survey_gpus().gpus.size()), warning));
    ranks_ = world().for_device(*device_, world().communicator(), true);
  }
  World& world() const { return World::instance(); }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> ranks_;
};

TEST_F(CudaInRanks, EveryKindOfEveryTypeAndSize) {
  for (std::int64_t count : {0, 1, 2, 5, 1000, 100'003}) testing::check_types(*ranks_, count, device_.get());
  testing::check_kinds<float>(*ranks_, (9 << 20) / 4 + 1, device_.get());
  testing::check_kinds<double>(*ranks_, (80 << 20) / 8 + 3, device_.get());
}

TEST_F(CudaInRanks, SeveralAreInFlightBehindTheWorkThatMakesThem) {
  constexpr std::int64_t kCount = 1 << 20;
  const std::vector<float> ones(kCount, 1.0F);
  std::vector<Buffer> buffers;
  std::vector<Communicator::Ticket> tickets;
  const Buffer source = device_->allocate(kCount * 4);
  device_->upload(source.data(), ones.data(), kCount * 4);
  for (int i = 0; i < 5; ++i) {
    buffers.push_back(device_->allocate(kCount * 4));
    device_->copy(buffers.back().data(), source.data(), kCount * 4);  // queued, without a wait
    tickets.push_back(ranks_->start(
        {.kind = Kind::all_reduce, .data = buffers.back().data(), .count = kCount, .device = device_.get()}));
  }
  for (const auto ticket : tickets) ranks_->wait(ticket);
  std::vector<float> got(kCount);
  for (const Buffer& buffer : buffers) {
    device_->download(got.data(), buffer.data(), kCount * 4);
    EXPECT_EQ(got, std::vector<float>(kCount, static_cast<float>(world().size())));
  }
}

TEST_F(CudaInRanks, GroupsWorkApart) {
  const auto half = ranks_->split(world().rank() % 2);
  testing::check_kinds<float>(*half, 70'001, device_.get());
  ranks_->barrier();
}

TEST_F(CudaInRanks, CopiesAreCountedAndHidden) {
  if (ranks_->kind() != "mpi") GTEST_SKIP() << "no copies through the host here: " << ranks_->kind();
  constexpr std::int64_t kCount = 16 << 20;
  const Buffer buffer = device_->allocate(kCount * 4);
  device_->zero(buffer.data(), kCount * 4);
  const Collective c{
      .kind = Kind::all_reduce, .data = buffer.data(), .count = kCount, .device = device_.get()};
  ranks_->run(c);
  const Traffic before = ranks_->traffic();
  ranks_->run(c);
  const Traffic after = ranks_->traffic();
  const double copies = after.copy_seconds - before.copy_seconds,
               exposed = after.copy_exposed - before.copy_exposed;
  EXPECT_EQ(after.of(Kind::all_reduce).bytes - before.of(Kind::all_reduce).bytes, kCount * 4);
  EXPECT_GT(copies, 0);  // 0 if MPI reads the GPU's memory itself
  EXPECT_GE(exposed, 0);
  RecordProperty("hidden", std::to_string(1 - exposed / copies));
}

class CudaRanks : public ::testing::TestWithParam<int> {};
TEST_P(CudaRanks, CollectivesGiveTheExactResults) {
  if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
  if (const std::string why = testing::why_no_ranks(); !why.empty()) GTEST_SKIP() << why;
  const testing::Outcome outcome = testing::run_tests_in_ranks(GetParam(), "CudaInRanks.*", "cuda");
  EXPECT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("[  PASSED  ]"), std::string::npos) << outcome.out;
}
INSTANTIATE_TEST_SUITE_P(CudaRanks, CudaRanks, ::testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace headroom
