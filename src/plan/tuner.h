#pragma once

#include <functional>

#include "device/device.h"
#include "plan/tuning_table.h"

namespace headroom {

// Chooses among the candidates of kernels by timing them on the device. No other code does this. It runs
// problems on its own random data, before the plan's memory is allocated.
class Tuner {
 public:
  Tuner(Device& device, TuningTable& table) : device_(device), table_(table) {}

  struct Progress {
    std::size_t problem = 0, of = 0;  // `problem` is timed next; at the end both are equal
    std::string text;
  };
  using Watch = std::function<void(const Progress&)>;

  // Sets the variant of every step whose kernel has candidates: from the table, or timed now and added to the
  // table. A deterministic policy times nothing and takes the first candidate that the device can run.
  // Returns the number of problems timed.
  std::size_t tune(Plan& plan, const Watch& watch = {});

 private:
  Tuned time(const Step& step, const Target& target);
  Tuned first_that_runs(const Step& step, const Target& target);

  Device& device_;
  TuningTable& table_;
};

}  // namespace headroom
