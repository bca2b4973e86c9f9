#pragma once

#include <memory>
#include <vector>

#include "plan/executor.h"
#include "profile/measurement.h"

namespace headroom {

// The time of every step of a plan, by the device's own clock: events on a GPU, the wall clock on a CPU.
// Allocates room for `runs` runs at once, so recording allocates nothing; further runs overwrite the oldest.
class StepTimer final : public Recorder {
 public:
  StepTimer(Device& device, std::size_t steps, std::size_t runs);
  void begin(std::size_t step, Stream& stream) override;
  void end(std::size_t step, Stream& stream) override;
  // Waits for unfinished work.
  const std::vector<double>& samples(std::size_t step);
  std::size_t steps() const { return samples_.size(); }
  Measurement measurement();  // of all runs so far

 private:
  struct Marks {
    std::unique_ptr<Event> begin, end;
    bool open = false;  // recorded, not yet read
  };
  void collect(std::size_t step);

  Measurement::Source source_;
  std::vector<Marks> marks_;
  std::vector<std::vector<double>> samples_;
  std::vector<std::size_t> oldest_;  // by step: index of its oldest sample once the ring is full
  std::size_t runs_;
};

// The cost of one begin/end pair on this machine: the timer adds it to each timed step.
double timer_overhead_seconds();

}  // namespace headroom
