#pragma once

#include <string>

#include "inject/aggregator.h"

namespace headroom::inject::testing {

// Feeds an aggregator with what CUPTI would record: kernels of known names and times on one stream, each with
// its call.
class FakeProcess {
 public:
  explicit FakeProcess(const WindowRule& rule = {}, int pid = 100, int rank = -1) : aggregator_(rule) {
    aggregator_.header().pid = pid, aggregator_.header().rank = rank;
  }

  // The call takes 2 us, and the kernel begins 5 us after it, or after the kernel before.
  void kernel(std::string_view name, std::int64_t us, std::uint64_t node = 0) {
    if (node == 0 || correlation_ == 0)
      launch(node == 0 ? "cudaLaunchKernel_v7000" : "cudaGraphLaunch_v10000");
    Aggregator::StreamWork work = next_work(us);
    work.graph_node = node;
    aggregator_.kernel(name, {.grid = {8, 1, 1}, .block = {128, 1, 1}, .registers = 32}, work);
  }
  void whole_graph(std::int64_t us, std::uint32_t id) {
    launch("cudaGraphLaunch_v10000");
    aggregator_.graph(id, next_work(us));
  }
  void graph_launch() { launch("cudaGraphLaunch_v10000"); }
  void upload(std::int64_t bytes, std::int64_t us, bool pinned = true) {
    launch("cudaMemcpyAsync_v3020");
    aggregator_.copy(0, pinned, bytes, next_work(us));
  }
  void pause(std::int64_t us) { host_ns_ = device_ns_ = std::max(host_ns_, device_ns_) + 1000 * us; }
  std::int64_t now_ns() const { return host_ns_; }
  void range(std::string_view name, std::int64_t begin_ns) {
    aggregator_.range(name, kMain, {begin_ns, host_ns_});
  }
  Aggregator& aggregator() { return aggregator_; }
  ProcessRecord finish() {
    aggregator_.finish();
    return aggregator_.record();
  }

 private:
  static constexpr std::uint64_t kMain = 100;

  void launch(const char* call) {
    ++correlation_;
    aggregator_.call(call, false, kMain, correlation_, {host_ns_, host_ns_ + 2000});
    host_ns_ += 2000;
  }
  Aggregator::StreamWork next_work(std::int64_t us) {
    Aggregator::StreamWork work;
    work.begin_ns = std::max(device_ns_, host_ns_ + 3000);
    work.end_ns = device_ns_ = work.begin_ns + 1000 * us;
    work.stream = 7, work.correlation = correlation_;
    return work;
  }

  Aggregator aggregator_;
  std::int64_t host_ns_ = 1'000'000, device_ns_ = 1'000'000;
  std::uint32_t correlation_ = 0;
};

// A step: an upload and three kernels that take 60 us, with ranges, then a pause.
inline void training_step(FakeProcess& process) {
  const std::int64_t begin = process.now_ns();
  process.upload(4096, 10);
  const std::int64_t forward = process.now_ns();
  process.kernel("_Z7forwardPf", 20);
  process.range("forward", forward);
  process.kernel("_Z8backwardPf", 30);
  process.kernel("_Z6updatePf", 10);
  process.range("step", begin);
  process.pause(40);
}

}  // namespace headroom::inject::testing
