#include <gtest/gtest.h>

#include <vector>

#include "comm/cuda_communicator.h"

namespace headroom {
namespace {

// One GPU allows one rank. More ranks need more GPUs; the tests of ranks cover them.
class CudaNccl : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    if (const std::string why = why_no_nccl(); !why.empty()) GTEST_SKIP() << why;
    device_ = open_device("cuda");
    alone_ = make_self_communicator();
    ranks_ = make_nccl_communicator(*device_, *alone_);
  }
  std::unique_ptr<Device> device_;
  std::unique_ptr<Communicator> alone_, ranks_;
};

TEST_F(CudaNccl, OneRankKeepsWhatItHas) {
  EXPECT_EQ(ranks_->kind(), "nccl");
  EXPECT_EQ(ranks_->size(), 1);
  std::vector<float> out(1001), in(1001);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i);
  const Buffer there = device_->allocate(4004);
  using Kind = Collective::Kind;
  for (Kind kind : {Kind::all_reduce, Kind::reduce_scatter, Kind::all_gather, Kind::broadcast}) {
    device_->upload(there.data(), out.data(), 4004);
    ranks_->run({.kind = kind, .data = there.data(), .count = 1001, .device = device_.get()});
    device_->download(in.data(), there.data(), 4004);
    EXPECT_EQ(in, out) << name_of(kind);
  }
  ranks_->barrier();
  const Traffic traffic = ranks_->traffic();
  EXPECT_EQ(traffic.of(Kind::all_reduce).bytes, 4004);
  EXPECT_GT(traffic.of(Kind::all_reduce).seconds, 0);
  EXPECT_EQ(ranks_->split(5)->size(), 1);
  EXPECT_THROW(ranks_->start({.kind = Kind::all_reduce, .data = in.data(), .count = 1}), Error);
}

TEST_F(CudaNccl, IsPartOfCapturedWork) {
  ASSERT_TRUE(ranks_->captures());
  const Buffer a = device_->allocate(4), b = device_->allocate(4);
  const Collective c{
      .kind = Collective::Kind::all_reduce, .data = b.data(), .count = 1, .device = device_.get()};
  ranks_->run(c);  // NCCL initialises itself on first use
  const auto work = device_->capture([&] {
    device_->copy(b.data(), a.data(), 4);
    ranks_->wait(ranks_->start(c));
    device_->copy(a.data(), b.data(), 4);
  });
  for (float value : {3.0F, 8.0F}) {
    device_->upload(a.data(), &value, 4);
    work->launch();
    float got = 0;
    device_->download(&got, a.data(), 4);
    EXPECT_EQ(got, value);
  }
}

}  // namespace
}  // namespace headroom
