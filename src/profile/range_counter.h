#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "profile/gpu_counters.h"

namespace headroom {

// Values of one range, in the order of the pass's counters.
struct RangeValues {
  std::size_t range;  // the number it was pushed with
  std::vector<double> values;
};

// What a range is: what lies between push and pop, or each kernel by itself, without them. Kernels of the
// second kind run one after the other.
enum class RangeMode { pushed, kernels };

// Reads the counters of a GPU over ranges of launches. One at a time.
class RangeCounter {
 public:
  virtual ~RangeCounter() = default;
  virtual const CounterPasses& passes() const = 0;

  virtual void prepare(std::size_t pass, std::size_t max_ranges, RangeMode mode) = 0;
  virtual void start() = 0;
  virtual void push(std::size_t range) = 0;
  virtual void pop() = 0;  // waits for the device
  // True: the pass is complete. Otherwise it needs another run of the same launches.
  virtual bool stop() = 0;
  virtual std::vector<RangeValues> read() = 0;  // of a complete pass
  // The pass that was read, as CUPTI keeps it: MetricHost evaluates it on any machine.
  virtual std::vector<std::uint8_t> image() const { return {}; }
  std::size_t dropped() const { return dropped_; }  // ranges that found no room

 protected:
  std::size_t dropped_ = 0;
};

}  // namespace headroom
