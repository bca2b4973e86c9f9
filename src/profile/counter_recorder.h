#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profile/cpu_counters.h"
#include "profile/step_counts.h"

namespace headroom {

// What reading counters adds to them, by counter: the least of several pairs of readings. A thread that loses
// its core between the two would raise a mean, and more than a step took would be taken off.
std::vector<double> cost_of_reading(std::size_t counters,
                                    const std::function<void(std::vector<double>&)>& read);

// Counts what each step of a plan does, over several runs, and how long these took: ratios are of the same
// runs. What reading adds to a step is counted once, in the beginning, and taken off. Runs before open() and
// after close() do not count.
class CounterRecorder final : public StepCounts {
 public:
  static constexpr const char* kTime = "seconds";  // the name of the time among the counters

  CounterRecorder(const std::vector<std::string>& counters, std::size_t steps);
  void open() override { open_ = true; }
  void close() override { open_ = false; }
  void begin(std::size_t step, Stream& stream) override;
  void end(std::size_t step, Stream& stream) override;

  const std::vector<std::string>& notes() const override { return counting_.notes(); }
  void add_to(Measurement& measurement) const override;  // means of one run of each step

 private:
  void read(std::vector<double>& totals);  // by counter, and the time last

  CpuCounting counting_;
  std::vector<double> before_, after_, own_;
  std::vector<std::vector<double>> sums_;  // by step
  std::vector<std::int64_t> runs_;
  bool open_ = false;
};

}  // namespace headroom
