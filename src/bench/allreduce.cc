#include "bench/allreduce.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "comm/mpi_communicator.h"

namespace headroom {
namespace {

constexpr double kSample = 2e-3;  // short messages are sent so often in a row that a sample lasts this long
constexpr double kEach = 0.4;     // about so long is spent on each size, a few samples at the least
constexpr int kFewest = 7, kMostSamples = 31;

double now_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

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

    run(ours, 2);
    if (mpi != nullptr) mpi->plain_seconds(c, 2);
    // The first rank decides how often, for all.
    double once = run(ours, 1);
    host_.broadcast(&once, sizeof once);
    const int calls = static_cast<int>(std::clamp(kSample / once, 1.0, 500.0));
    const int samples = std::clamp(static_cast<int>(kEach / 2 / (once * calls)), kFewest, kMostSamples);

    const Traffic before = ranks_.traffic();
    std::vector<double> mine, plain;
    for (int s = 0; s < samples; ++s)
      for (const bool turn : {s % 2 == 0, s % 2 != 0}) {  // each is first as often as the other
        if (turn) mine.push_back(run(ours, calls) / calls);
        if (!turn && mpi != nullptr) {
          host_.barrier();
          plain.push_back(mpi->plain_seconds(c, calls) / calls);
        }
      }
    AllReduceTiming timing{.bytes = bytes, .seconds = of_the_slowest(mine), .plain = of_the_slowest(plain)};
    add_copies(timing, before, samples * calls);
    return timing;
  }

 private:
  double run(const Collective& collective, int calls) {
    host_.barrier();
    const double begin = now_s();
    for (int i = 0; i < calls; ++i) ranks_.run(collective);
    if (device_ != nullptr) device_->stream().synchronize();
    return now_s() - begin;
  }

  Spread of_the_slowest(std::vector<double> samples) {
    if (samples.empty()) return {};
    host_.all_reduce(samples.data(), std::ssize(samples), Reduction::max);
    return spread_of(samples);
  }

  // Of this rank; they differ little, for each waits for all.
  void add_copies(AllReduceTiming& timing, const Traffic& before, int calls) const {
    const Traffic after = ranks_.traffic();
    timing.copy_s = (after.copy_seconds - before.copy_seconds) / calls;
    timing.exposed_s = (after.copy_exposed - before.copy_exposed) / calls;
    constexpr auto kKind = Collective::Kind::all_reduce;
    timing.total_s = (after.of(kKind).seconds - before.of(kKind).seconds) / calls;
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
