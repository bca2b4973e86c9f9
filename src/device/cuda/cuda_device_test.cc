#include "device/cuda/cuda_device.h"

#include <gtest/gtest.h>

#include <chrono>
#include <numeric>

#include "base/testing/bad_input.h"
#include "device/cuda/check.h"

namespace headroom {
namespace {

using testing::expect_rejected;

TEST(CudaSurvey, SaysWhatThereIsOrWhyThereIsNothing) {
  const GpuSurvey survey = survey_gpus();
  EXPECT_FALSE(survey.runtime.empty());
  EXPECT_EQ(survey.gpus.empty(), !survey.why_not.empty());
  EXPECT_EQ(survey.gpus.empty(), !survey.try_this.empty());
  for (const Capabilities& gpu : survey.gpus) {
    EXPECT_FALSE(gpu.name.empty());
    EXPECT_GE(gpu.compute_capability, 50);
    EXPECT_GT(gpu.memory_bytes, 1u << 30);
  }
}

TEST(CudaSurvey, DevicesThatAreNotThereAreRefused) {
  expect_rejected([] { open_device("cuda:99"); }, {"GPU"});
  expect_rejected([] { open_device("cuda:x"); }, {"'x'"});
  expect_rejected([] { open_device("cudo"); }, {"'cudo'"});
}

TEST(CudaCheck, NamesFileLineCallAndReason) {
  try {
    cuda::check(cudaErrorInvalidValue, "cudaMalloc(…)", "/somewhere/src/device/x.cc", 42);
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    for (const char* part :
         {"src/device/x.cc:42", "cudaMalloc(…)", "invalid argument", "cudaErrorInvalidValue"})
      EXPECT_NE(what.find(part), std::string::npos) << part << " in " << what;
    EXPECT_EQ(what.find("/somewhere"), std::string::npos);
  }
}

class CudaDeviceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    device_ = open_device("cuda");
  }
  std::unique_ptr<Device> device_;
};

TEST_F(CudaDeviceTest, BytesComeBack) {
  std::vector<int> out(1000), in(1000);
  std::iota(out.begin(), out.end(), 7);
  const Buffer a = device_->allocate(4000), b = device_->allocate(4000);
  device_->upload(a.data(), out.data(), 4000);
  device_->copy(b.data(), a.data(), 4000);
  device_->download(in.data(), b.data(), 4000);
  EXPECT_EQ(in, out);
  device_->zero(b.data(), 4000);
  device_->download(in.data(), b.data(), 4000);
  EXPECT_EQ(in, std::vector<int>(1000, 0));
}

// A learning rate is written in each step, from the host's stack: the host must not wait for the steps
// before.
using TimingCudaDevice = CudaDeviceTest;
TEST_F(TimingCudaDevice, ANumberIsQueuedWithoutWaiting) {
  constexpr std::size_t kBytes = std::size_t{4} << 30;  // filling it once takes about a millisecond
  if (device_->free_bytes_now() < 2 * kBytes) GTEST_SKIP() << "too little memory is free";
  const Buffer big = device_->allocate(kBytes), numbers = device_->allocate(16);
  const auto begin = device_->make_event(), written = device_->make_event();
  device_->zero(big.data(), kBytes);
  device_->zero(numbers.data(), 16);
  double first = 0;
  device_->upload(numbers.data(), &first, sizeof first);  // loads the code
  begin->record(device_->stream());
  for (int i = 0; i < 20; ++i) device_->zero(big.data(), kBytes);
  const auto now = [] { return std::chrono::steady_clock::now(); };
  const auto called = now();
  for (double value = 0; value < 100; ++value) {
    double copy = value;
    device_->upload_async(numbers.data(), &copy, sizeof copy, device_->stream());
    copy = -1;  // the caller's memory is free again
  }
  const double host_s = std::chrono::duration<double>(now() - called).count();
  written->record(device_->stream());
  double got = 0;
  device_->download(&got, numbers.data(), sizeof got);
  EXPECT_EQ(got, 99);
  EXPECT_LT(host_s, 0.5 * written->seconds_since(*begin));
}

TEST_F(CudaDeviceTest, PinnedCopiesOnTheirOwnStreamAreWaitedFor) {
  constexpr std::size_t kBytes = 64 << 20;
  const Buffer host = device_->allocate_host(kBytes), back = device_->allocate_host(kBytes);
  const Buffer there = device_->allocate(kBytes), copy = device_->allocate(kBytes);
  std::fill_n(static_cast<unsigned char*>(host.data()), kBytes, 0x5A);
  const auto copied = device_->make_event(), done = device_->make_event();
  device_->upload_async(there.data(), host.data(), kBytes, device_->copy_stream());
  copied->record(device_->copy_stream());
  copied->hold(device_->stream());
  device_->copy(copy.data(), there.data(), kBytes);
  device_->download_async(back.data(), copy.data(), kBytes, device_->stream());
  done->record(device_->stream());
  done->synchronize();
  EXPECT_EQ(std::memcmp(host.data(), back.data(), kBytes), 0);
  EXPECT_GT(done->seconds_since(*copied), 0);
}

TEST_F(CudaDeviceTest, CapturedWorkRunsWhenLaunchedAndAgain) {
  const Buffer a = device_->allocate(4), b = device_->allocate(4);
  const auto copy = device_->capture([&] { device_->copy(b.data(), a.data(), 4); });
  for (int value : {3, 8}) {
    device_->upload(a.data(), &value, 4);
    copy->launch();
    int got = 0;
    device_->download(&got, b.data(), 4);
    EXPECT_EQ(got, value);
  }
}

TEST_F(CudaDeviceTest, CapturedWorkMayBranch) {
  const Buffer a = device_->allocate(4), b = device_->allocate(4), c = device_->allocate(4);
  const Buffer host = device_->allocate_host(4);
  const auto fork = device_->make_event(), join = device_->make_event();
  const auto work = device_->capture([&] {
    device_->copy(b.data(), a.data(), 4);
    fork->record(device_->stream()), fork->hold(device_->side_stream());
    device_->download_async(host.data(), b.data(), 4, device_->side_stream());
    device_->copy(c.data(), b.data(), 4);
    join->record(device_->side_stream()), join->hold(device_->stream());
    device_->copy(a.data(), c.data(), 4);
  });
  for (int value : {3, 8}) {
    device_->upload(a.data(), &value, 4);
    work->launch();
    int got = 0;
    device_->download(&got, c.data(), 4);
    EXPECT_EQ(got, value);
    EXPECT_EQ(*static_cast<const int*>(host.data()), value) << "the branch is part of the work";
  }
}

TEST_F(CudaDeviceTest, AFailedCaptureLeavesTheStreamUsable) {
  EXPECT_THROW(device_->capture([] { throw std::runtime_error("no"); }), std::runtime_error);
  const Buffer a = device_->allocate(4);
  device_->zero(a.data(), 4);
  device_->stream().synchronize();
}

TEST_F(CudaDeviceTest, TooMuchMemoryIsNamed) {
  try {
    device_->allocate(std::size_t{1} << 50);
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("out of memory"), std::string::npos) << error.what();
  }
  device_->allocate(1 << 20);  // the device still works
}

}  // namespace
}  // namespace headroom
