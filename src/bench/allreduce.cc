#include "bench/allreduce.h"

#include <algorithm>
#include <cmath>

#include "comm/mpi_communicator.h"
#include "machine/timing.h"

namespace headroom {
namespace {

class Bench {
 public:
  Bench(Communicator& ranks, Communicator& host, Device* device, std::int64_t most)
      : ranks_(ranks), host_(host), device_(device), on_host_(static_cast<std::size_t>(most / 4)) {
    if (device_ == nullptr) return;
    there_ = device_->allocate(static_cast<std::size_t>(most));
    device_->zero(there_.data(), there_.bytes());
  }

  AllReduceTiming time(std::int64_t bytes) {
    Collective c{.kind = Collective::Kind::all_reduce, .data = on_host_.data(), .count = bytes / 4};
    Collective ours = c;
    if (device_ != nullptr) ours.data = there_.data(), ours.device = device_;
    auto* mpi = dynamic_cast<MpiCommunicator*>(&host_);

    std::vector<TimedBody> bodies = {[&](int calls) { return run(ours, calls); }};
    if (mpi != nullptr)
      bodies.push_back([&](int calls) -> std::vector<double> {
        host_.barrier();
        return {of_the_slowest(mpi->plain_seconds(c, calls))};
      });
    // At most 0.4 s per size, unless 7 samples take longer.
    const auto timed = sample_in_turn({.warm_ups = 2,
                                       .min_samples = 7,
                                       .max_samples = 31,
                                       .max_seconds = 0.4,
                                       .min_sample_seconds = 2e-3,
                                       .noise = 0.005,
                                       .alternate = true},
                                      bodies);
    AllReduceTiming timing{.bytes = bytes, .seconds = timed[0]};
    if (mpi != nullptr) timing.plain = timed[1];
    const std::vector<Spread>& parts = timed[0].parts;
    timing.copy_s = parts[0].mean, timing.exposed_s = parts[1].mean, timing.total_s = parts[2].mean;
    return timing;
  }

 private:
  // The parts are the copies, the copies not hidden behind messages, and the total of both. They are of this
  // rank; ranks differ little, because each waits for all.
  std::vector<double> run(const Collective& collective, int calls) {
    const Traffic before = ranks_.traffic();
    host_.barrier();
    const double begin = now_s();
    for (int i = 0; i < calls; ++i) ranks_.run(collective);
    if (device_ != nullptr) device_->stream().synchronize();
    const double seconds = now_s() - begin;
    const Traffic after = ranks_.traffic();
    constexpr auto kKind = Collective::Kind::all_reduce;
    return {of_the_slowest(seconds), after.copy_seconds - before.copy_seconds,
            after.copy_exposed - before.copy_exposed, after.of(kKind).seconds - before.of(kKind).seconds};
  }

  // All ranks get the same seconds, so the sampler decides the same on all of them.
  double of_the_slowest(double seconds) {
    host_.all_reduce(&seconds, 1, Reduction::max);
    return seconds;
  }

  Communicator &ranks_, &host_;
  Device* device_;
  std::vector<float> on_host_;
  Buffer there_;
};

}  // namespace

std::vector<AllReduceTiming> bench_all_reduce(Communicator& ranks, Communicator& host, Device* device,
                                              std::int64_t most,
                                              const std::function<void(const std::string&)>& progress) {
  Bench bench(ranks, host, device, most);
  std::vector<AllReduceTiming> timings;
  for (std::int64_t bytes = kLeastAllReduce; bytes <= most; bytes *= 2) {
    if (progress) progress(human_bytes(static_cast<double>(bytes)));
    timings.push_back(bench.time(bytes));
  }
  return timings;
}

}  // namespace headroom
