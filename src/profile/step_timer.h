#pragma once

#include <chrono>
#include <vector>

#include "plan/executor.h"

namespace headroom {

// Wall time of every step of a plan. Room for `runs` runs is taken at once, so recording allocates nothing;
// further runs overwrite the oldest.
class StepTimer final : public Recorder {
 public:
  StepTimer(std::size_t steps, std::size_t runs) : samples_(steps), oldest_(steps), runs_(runs) {
    for (auto& list : samples_) list.reserve(runs);
  }
  void begin(std::size_t) override { start_ = Clock::now(); }
  void end(std::size_t step) override {
    const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    auto& list = samples_[step];
    if (list.size() < runs_) {
      list.push_back(seconds);
    } else if (runs_ > 0) {
      list[oldest_[step]] = seconds;
      oldest_[step] = (oldest_[step] + 1) % runs_;
    }
  }
  const std::vector<double>& samples(std::size_t step) const { return samples_[step]; }
  std::size_t steps() const { return samples_.size(); }

 private:
  using Clock = std::chrono::steady_clock;
  std::vector<std::vector<double>> samples_;
  std::vector<std::size_t> oldest_;  // by step: where its oldest sample lies once there is no more room
  std::size_t runs_;
  Clock::time_point start_;
};

// The cost of one begin/end pair on this machine: what the timer adds to a step it times.
double timer_overhead_seconds();

}  // namespace headroom
