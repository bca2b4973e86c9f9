// The kernel trace against kernels of known duration and copies of known size.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include "profile/intervals.h"
#include "profile/kernel_tracer.h"
#include "profile/testing/spin.h"

namespace headroom {
namespace {

class CudaTrace : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const GpuSurvey survey = survey_gpus(); survey.gpus.empty()) GTEST_SKIP() << survey.why_not;
    device_ = open_device("cuda");
    testing::spin(device_->stream(), 1000);  // loads the code
    device_->stream().synchronize();
    tracer_ = make_kernel_tracer(*device_);
    origin_ = spans::now_ns();
  }
  Trace traced(const std::function<void()>& work) {
    tracer_->start();
    work();
    Trace trace;
    tracer_->stop(trace, origin_, 0);
    std::erase_if(trace.kernels, [&](const Trace::Kernel& k) {
      return trace.text(k.name).find("spin_for") == std::string::npos;
    });
    return trace;
  }
  void spin_step(std::size_t step, Stream& stream, std::int64_t ns) {
    tracer_->begin(step, stream);
    testing::spin(stream, ns);
    tracer_->end(step, stream);
  }
  std::unique_ptr<Device> device_;
  std::unique_ptr<KernelTracer> tracer_;
  std::int64_t origin_ = 0;
};

constexpr std::int64_t kMs = 1000 * 1000;

TEST_F(CudaTrace, TimesAreThoseOfTheKernels) {
  const std::vector<std::int64_t> durations = {1 * kMs, 2 * kMs, 5 * kMs, 20 * kMs};
  const std::int64_t begin = spans::now_ns() - origin_;
  const Trace trace = traced([&] {
    for (std::int64_t ns : durations) testing::spin(device_->stream(), ns);
  });
  const std::int64_t end = spans::now_ns() - origin_;
  ASSERT_EQ(trace.kernels.size(), durations.size());
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const Trace::Kernel& k = trace.kernels[i];
    EXPECT_NEAR(double(k.end_ns - k.begin_ns), double(durations[i]), 0.02 * double(durations[i])) << i;
    EXPECT_GE(k.begin_ns, begin) << "one clock for host and device";
    EXPECT_LE(k.end_ns, end);
    EXPECT_EQ(k.grid, (std::array{1, 1, 1}));
    EXPECT_EQ(k.block, (std::array{32, 1, 1}));
    EXPECT_GT(k.registers, 0);
    EXPECT_EQ(trace.lanes[static_cast<std::size_t>(k.lane)].name, "compute stream");
  }
}

TEST_F(CudaTrace, TwoStreamsOverlap) {
  const Trace trace = traced([&] {
    testing::spin(device_->stream(), 10 * kMs);
    testing::spin(device_->side_stream(), 10 * kMs);
    device_->side_stream().synchronize();
  });
  ASSERT_EQ(trace.kernels.size(), 2u);
  const IntervalSet first(std::vector<Trace::Interval>{trace.kernels[0]}),
      second(std::vector<Trace::Interval>{trace.kernels[1]});
  EXPECT_NEAR((first | second).seconds(), 10e-3, 0.02 * 10e-3);
  EXPECT_NEAR((first & second).seconds(), 10e-3, 0.02 * 10e-3);
  EXPECT_NE(trace.kernels[0].lane, trace.kernels[1].lane);
}

TEST_F(CudaTrace, KernelsKnowTheirStep) {
  const Trace trace = traced([&] {
    spin_step(3, device_->stream(), kMs);
    testing::spin(device_->stream(), kMs);
    spin_step(0, device_->stream(), kMs);
  });
  ASSERT_EQ(trace.kernels.size(), 3u);
  EXPECT_EQ(trace.kernels[0].step, 3);
  EXPECT_EQ(trace.kernels[1].step, -1);
  EXPECT_EQ(trace.kernels[2].step, 0);
}

TEST_F(CudaTrace, KernelsOfACapturedRunKnowTheirStep) {
  const Trace trace = traced([&] {
    const auto event = device_->make_event(), joined = device_->make_event();
    const auto graph = device_->capture([&] {
      spin_step(0, device_->stream(), 2 * kMs);
      event->record(device_->stream());
      event->hold(device_->side_stream());
      spin_step(1, device_->side_stream(), 3 * kMs);
      spin_step(2, device_->stream(), 5 * kMs);
      joined->record(device_->side_stream());
      joined->hold(device_->stream());
    });
    ASSERT_NE(graph, nullptr);
    for (int i = 0; i < 3; ++i) graph->launch();
  });
  ASSERT_EQ(trace.kernels.size(), 9u);
  std::map<int, int> count;
  const std::map<int, double> ms = {{0, 2}, {1, 3}, {2, 5}};
  for (const Trace::Kernel& k : trace.kernels) {
    ASSERT_TRUE(ms.contains(k.step)) << k.step;
    EXPECT_NEAR(k.seconds() * 1e3, ms.at(k.step), 0.02 * ms.at(k.step));
    EXPECT_NE(k.graph_node, 0u);
    ++count[k.step];
  }
  EXPECT_EQ(count, (std::map<int, int>{{0, 3}, {1, 3}, {2, 3}}));
  EXPECT_NEAR(IntervalSet(trace.kernels).seconds(), 3 * 7e-3, 0.02 * 21e-3) << "the two branches overlap";
}

TEST_F(CudaTrace, CopiesHaveTheirSize) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Buffer host = device_->allocate_host(kBytes), gpu = device_->allocate(kBytes);
  std::vector<std::byte> pageable(1 << 20);
  const Trace trace = traced([&] {
    device_->upload(gpu.data(), host.data(), kBytes);
    device_->download(pageable.data(), gpu.data(), pageable.size());
    device_->zero(gpu.data(), kBytes);
  });
  std::int64_t up = 0, down = 0, filled = 0;
  for (const Trace::Copy& copy : trace.copies) {
    if (copy.kind == Trace::CopyKind::host_to_device) up += copy.bytes;
    if (copy.kind == Trace::CopyKind::device_to_host) down += copy.bytes;
    if (copy.kind == Trace::CopyKind::fill) filled += copy.bytes;
    if (copy.kind != Trace::CopyKind::fill) {
      EXPECT_EQ(copy.pinned, copy.kind == Trace::CopyKind::host_to_device);
    }
  }
  EXPECT_EQ(up, std::int64_t(kBytes));
  EXPECT_EQ(down, std::int64_t(pageable.size()));
  EXPECT_EQ(filled, std::int64_t(kBytes));
  EXPECT_FALSE(trace.calls.empty());
}

TEST_F(CudaTrace, PagesOfManagedMemoryAreCounted) {
  constexpr std::size_t kBytes = std::size_t{16} << 20;
  int managed = 0;
  cudaDeviceGetAttribute(&managed, cudaDevAttrConcurrentManagedAccess, 0);
  if (managed == 0) GTEST_SKIP() << "the system does not move single pages";
  void* memory = nullptr;
  tracer_ = make_kernel_tracer(*device_, {.pages = true});
  ASSERT_EQ(cudaMallocManaged(&memory, kBytes), cudaSuccess);
  auto* bytes = static_cast<volatile unsigned char*>(memory);
  std::int64_t sum = 0;
  const Trace trace = traced([&] {
    for (std::size_t i = 0; i < kBytes; i += 512) bytes[i] = 1;
    device_->zero(memory, kBytes);
    device_->stream().synchronize();
    for (std::size_t i = 0; i < kBytes; i += 512) sum += bytes[i];
  });
  cudaFree(memory);
  EXPECT_EQ(sum, 0);
  if (!trace.notes.empty()) GTEST_SKIP() << trace.notes[0];
  std::int64_t to_host = 0, host_faults = 0;
  for (const Trace::Pages& pages : trace.pages) {
    if (pages.kind == Trace::PageEvent::to_host) to_host += pages.bytes;
    if (pages.kind == Trace::PageEvent::host_faults) host_faults += pages.faults;
  }
  EXPECT_GE(to_host, std::int64_t(kBytes)) << "the host read every page after the device had them";
  EXPECT_GT(host_faults, 0);
}

TEST_F(CudaTrace, KernelsLaunchedByThemselvesWereQueuedBefore) {
  tracer_ = make_kernel_tracer(*device_, {.delays = true});
  const Trace trace = traced([&] {
    for (int i = 0; i < 3; ++i) testing::spin(device_->stream(), kMs);
  });
  ASSERT_EQ(trace.kernels.size(), 3u);
  for (const Trace::Kernel& k : trace.kernels) {
    EXPECT_GT(k.queued_ns, 0);
    EXPECT_LE(k.queued_ns, k.submitted_ns);
    EXPECT_LE(k.submitted_ns, k.begin_ns);
  }
}

TEST_F(CudaTrace, NothingIsLeftBetweenTwoTraces) {
  EXPECT_EQ(traced([&] { testing::spin(device_->stream(), kMs); }).kernels.size(), 1u);
  testing::spin(device_->stream(), kMs);
  EXPECT_EQ(traced([&] { spin_step(5, device_->stream(), kMs); }).kernels.size(), 1u);
}

TEST_F(CudaTrace, OneAtATime) {
  tracer_->start();
  const auto second = make_kernel_tracer(*device_);
  EXPECT_THROW(second->start(), Error);
  Trace trace;
  tracer_->stop(trace, origin_, 0);
}

}  // namespace
}  // namespace headroom
