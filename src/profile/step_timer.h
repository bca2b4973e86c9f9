#pragma once

#include <memory>
#include <vector>

#include "plan/executor.h"

namespace headroom {

// Time of every step of a plan, by the device's own clock. Room for `runs` runs is taken at once, so
// recording allocates nothing; further runs overwrite the oldest.
class StepTimer final : public Recorder {
 public:
  StepTimer(Device& device, std::size_t steps, std::size_t runs);
  void begin(std::size_t step) override;
  void end(std::size_t step) override;
  // Waits for what is still under way.
  const std::vector<double>& samples(std::size_t step);
  std::size_t steps() const { return samples_.size(); }

 private:
  struct Marks {
    std::unique_ptr<Event> begin, end;
    bool open = false;  // recorded, not yet read
  };
  void collect(std::size_t step);

  Stream& stream_;
  std::vector<Marks> marks_;
  std::vector<std::vector<double>> samples_;
  std::vector<std::size_t> oldest_;  // by step: where its oldest sample lies once there is no more room
  std::size_t runs_;
};

// The cost of one begin/end pair on this machine: what the timer adds to a step it times.
double timer_overhead_seconds();

}  // namespace headroom
