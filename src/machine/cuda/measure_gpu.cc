#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "device/cuda/check.h"
#include "machine/cuda/library_product.h"
#include "machine/cuda/loops.h"
#include "machine/cuda/stopwatch.h"
#include "machine/roofline.h"

namespace headroom {
namespace {

using cuda::Stopwatch;
using cuda::Traffic;
using cuda::Unit;

// Shares of the whole measurement. Rates take most of it: a card with a power limit needs seconds to show its
// sustained rate.
constexpr double kRateShare = 0.065, kIdleShare = 0.01, kStreamShare = 0.012, kCopyShare = 0.015;
constexpr double kBurst = 0.05;   // seconds after idling before the power limit acts
constexpr double kLaunch = 4e-3;  // length of one launch of a loop: long compared with the gap to the next
constexpr std::int64_t kGiB = std::int64_t{1} << 30;

struct UnitName {
  Unit unit;
  const char* name;
  bool tensor;
};
constexpr UnitName kUnits[] = {{Unit::fp64, "fp64", false}, {Unit::fp64_tensor, "fp64_tensor", true},
                               {Unit::fp32, "fp32", false}, {Unit::tf32, "tf32", true},
                               {Unit::fp16, "fp16", true},  {Unit::bf16, "bf16", true}};

struct Pace {
  double burst = 0;      // the best launch soon after idling
  double sustained = 0;  // over the second half of the time
};

// launch() queues `work` FLOPs.
template <class Launch>
Pace pace_of(Stopwatch& watch, double work, double seconds, double idle, Launch&& launch) {
  watch.seconds(launch);
  std::this_thread::sleep_for(std::chrono::duration<double>(idle));
  Pace pace;
  double done = 0, took = 0;
  const double begin = now_s();
  double at = 0;
  do {
    const double each = watch.seconds(launch);
    at = now_s() - begin;
    if (at <= kBurst || pace.burst == 0) pace.burst = std::max(pace.burst, work / each);
    if (at >= seconds / 2) done += work, took += each;
  } while (at < seconds);
  pace.sustained = done / took;
  return pace;
}

class GpuMeasurement {
 public:
  GpuMeasurement(Device& gpu, double seconds, const std::function<void(const std::string&)>& progress)
      : gpu_(gpu), watch_(gpu), seconds_(seconds), progress_(progress), sink_(gpu.allocate(kAlignment)) {
    const Capabilities& has = gpu.capabilities();
    machine_ = {.name = "here-gpu",
                .title = has.name,
                .kind = "gpu",
                .measured = true,
                .compute_capability = has.compute_capability,
                .cores = has.multiprocessors};
    facts();
  }

  Machine run() {
    say("the cost of starting a kernel and waiting for it");
    costs();
    say("copies to and from the host");
    host_copies();
    say("bandwidth of L2 and memory");
    levels();
    for (const UnitName& unit : kUnits) rate(unit);
    byte_rate();
    return machine_;
  }

 private:
  void say(const std::string& stage) {
    if (progress_) progress_(stage);
  }
  void launch_empty() { cuda::launch_empty(watch_.stream()); }

  // What the driver knows about one multiprocessor.
  void facts() {
    int current = 0;
    HEADROOM_CUDA_CHECK(cudaGetDevice(&current));
    const auto attribute = [&](cudaDeviceAttr which) {
      int value = 0;
      HEADROOM_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, current));
      return static_cast<double>(value);
    };
    machine_.clock_hz.boost = 1e3 * attribute(cudaDevAttrClockRate);
    machine_.shared_bytes = attribute(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    machine_.register_bytes = 4 * attribute(cudaDevAttrMaxRegistersPerMultiprocessor);
  }

  void costs() {
    constexpr int kMany = 500;
    auto many = [&] {
      for (int i = 0; i < kMany; ++i) launch_empty();
    };
    std::vector<double> back_to_back, waited, idle;
    many();
    gpu_.stream().synchronize();
    for (int trial = 0; trial < 20; ++trial) {
      const double begin = now_s();
      many();
      gpu_.stream().synchronize();
      back_to_back.push_back((now_s() - begin) / kMany);
    }
    for (int trial = 0; trial < 500; ++trial) {
      const double begin = now_s();
      launch_empty();
      gpu_.stream().synchronize();
      const double done = now_s();
      gpu_.stream().synchronize();
      waited.push_back(done - begin);
      idle.push_back(now_s() - done);
    }
    machine_.launch.host_s = spread_of(back_to_back).median;
    machine_.launch.wait_s = spread_of(waited).median;
    machine_.launch.synchronize_s = spread_of(idle).median;
    if (const auto graph = gpu_.capture(many)) {
      std::vector<double> nodes;
      for (int trial = 0; trial < 20; ++trial)
        nodes.push_back(watch_.seconds([&] { graph->launch(); }) / kMany);
      machine_.launch.graph_node_s = spread_of(nodes).median;
    }
  }

  void host_copies() {
    const std::size_t bytes = seconds_ >= 10 ? std::size_t{256} << 20 : std::size_t{64} << 20;
    const double length = kCopyShare * seconds_, size = static_cast<double>(bytes);
    const Buffer there = gpu_.allocate(bytes);
    Machine::HostLink& link = machine_.host_link;
    {
      const Buffer pinned = gpu_.allocate_host(bytes);
      std::fill_n(static_cast<char*>(pinned.data()), bytes, char{1});
      auto up = [&] { gpu_.upload_async(there.data(), pinned.data(), bytes, gpu_.stream()); };
      auto down = [&] { gpu_.download_async(pinned.data(), there.data(), bytes, gpu_.stream()); };
      link.upload = size / watch_.least_seconds(length, up);
      link.download = size / watch_.least_seconds(length, down);
    }
    // By wall time: the driver copies through its own memory, partly before the call returns.
    std::vector<char> plain(bytes, char{1});
    auto least = [&](auto&& copy) {
      double best = 0;
      const double until = now_s() + length;
      do {
        const double begin = now_s();
        copy();
        const double took = now_s() - begin;
        best = best == 0 ? took : std::min(best, took);
      } while (now_s() < until);
      return best;
    };
    link.upload_pageable = size / least([&] { gpu_.upload(there.data(), plain.data(), bytes); });
    link.download_pageable = size / least([&] { gpu_.download(plain.data(), there.data(), bytes); });
    link.bytes_per_s = std::max(link.upload, link.download);
  }

  // Bytes per second of the fastest kind of stream over `bytes` of memory; the notes get the rate of each
  // kind.
  double stream_rate(const char* level, Buffer& to, Buffer& from, std::int64_t bytes, int passes) {
    struct Kind {
      const char* name;
      int directions;
      std::function<void()> queue;
    };
    const auto size = static_cast<std::size_t>(bytes);
    auto loop = [&](Traffic kind) {
      return [&, kind] {
        cuda::launch_traffic(kind, to.data(), from.data(), bytes, passes, machine_.cores, watch_.stream());
      };
    };
    std::vector<Kind> kinds = {{"read", 1, loop(Traffic::read)},
                               {"write", 1, loop(Traffic::write)},
                               {"copy", 2, loop(Traffic::copy)}};
    if (passes == 1) {
      kinds.push_back({"cudaMemset", 1, [&] { gpu_.zero(to.data(), size); }});
      kinds.push_back({"cudaMemcpy", 2, [&] { gpu_.copy(to.data(), from.data(), size); }});
    }
    double best = 0;
    std::vector<std::string> reached;
    for (const Kind& kind : kinds) {
      const double moved = static_cast<double>(bytes) * passes * kind.directions;
      const double rate = moved / watch_.least_seconds(kStreamShare * seconds_, kind.queue);
      reached.push_back(fmt::format("{} {}", kind.name, si(rate, "B/s")));
      best = std::max(best, rate);
    }
    machine_.notes.push_back(fmt::format("{}: {}", level, fmt::join(reached, ", ")));
    return best;
  }

  void levels() {
    int current = 0, l2 = 0;
    HEADROOM_CUDA_CHECK(cudaGetDevice(&current));
    HEADROOM_CUDA_CHECK(cudaDeviceGetAttribute(&l2, cudaDevAttrL2CacheSize, current));
    const auto free = static_cast<std::int64_t>(gpu_.free_bytes_now());
    const std::int64_t bytes = std::min(2 * kGiB, free / 4) / 256 * 256;
    Buffer to = gpu_.allocate(static_cast<std::size_t>(bytes)),
           from = gpu_.allocate(static_cast<std::size_t>(bytes));
    gpu_.zero(to.data(), to.bytes());
    gpu_.zero(from.data(), from.bytes());
    if (l2 > 0) {
      // A copy touches twice as much: both arrays must fit well within L2, half of which may be remote.
      const std::int64_t part = std::min<std::int64_t>(std::int64_t{10} << 20, l2 / 5) / 256 * 256;
      machine_.levels.push_back(
          {.name = "L2", .bytes = double(l2), .bytes_per_s = stream_rate("L2", to, from, part, 200)});
    }
    machine_.levels.push_back({.name = "memory",
                               .bytes = static_cast<double>(gpu_.capabilities().memory_bytes),
                               .bytes_per_s = stream_rate("memory", to, from, bytes, 1)});
  }

  Pace loop_pace(Unit unit) {
    int rounds = 16;
    double flops = 0;
    auto launch = [&] {
      flops = cuda::launch_rate_loop(unit, machine_.cores, rounds, sink_.data(), watch_.stream());
    };
    watch_.seconds(launch);
    const double once = watch_.seconds(launch);
    rounds = static_cast<int>(std::clamp(rounds * kLaunch / once, 1.0, 1e6));
    watch_.seconds(launch);
    return pace_of(watch_, flops, kRateShare * seconds_, kIdleShare * seconds_, launch);
  }

  std::optional<Pace> library_pace(Unit unit) {
    const bool roomy = gpu_.free_bytes_now() > std::size_t(4 * kGiB) && seconds_ >= 5;
    const std::int64_t side = roomy ? 8192 : 4096;
    const auto product = cuda::library_product(unit, side, watch_);
    if (!product) return std::nullopt;
    return pace_of(watch_, product->flops(), kRateShare * seconds_, kIdleShare * seconds_,
                   [&] { product->launch(); });
  }

  void rate(const UnitName& unit) {
    if (unit.tensor && machine_.compute_capability < 80) return;  // older tensor units have only fp16
    say(fmt::format("{} arithmetic", unit.name));
    Pace best = loop_pace(unit.unit);
    std::string how = "multiply-adds in registers";
    if (unit.tensor) {
      const auto library = library_pace(unit.unit);
      how = fmt::format("mma.sync in registers ({} at best){}", si(best.burst, "FLOP/s"),
                        library ? "" : "; cuBLASLt could not be used");
      if (library && std::max(library->burst, library->sustained) > std::max(best.burst, best.sustained)) {
        best = *library;
        how = fmt::format("product of large matrices by cuBLASLt, ahead of {}", how);
      }
    }
    machine_.peak_flops[unit.name] = std::max(best.burst, best.sustained);
    machine_.burst_flops[unit.name] = best.burst;
    machine_.sustained_flops[unit.name] = best.sustained;
    machine_.notes.push_back(fmt::format("{}: {}", unit.name, how));
  }

  // Tensor cores multiply twice as many bytes as halves. No loop of ours measures this.
  void byte_rate() {
    if (machine_.compute_capability < 80) return;
    machine_.peak_flops["int8"] = 2 * std::max(machine_.peak_flops["fp16"], machine_.peak_flops["bf16"]);
    machine_.basis = {{"default", "measured"}, {"peak_flops.int8", "computed"}};
    machine_.notes.push_back("int8: twice the rate of fp16 or bf16");
  }

  Device& gpu_;
  Stopwatch watch_;
  const double seconds_;
  const std::function<void(const std::string&)>& progress_;
  Buffer sink_;
  Machine machine_;
};

}  // namespace

Machine measure_gpu(Device& gpu, double seconds, const std::function<void(const std::string&)>& progress) {
  if (gpu.kind() != DeviceKind::cuda || !(seconds > 0)) reject("a measurement of {} s on no GPU", seconds);
  return GpuMeasurement(gpu, seconds, progress).run();
}

}  // namespace headroom
