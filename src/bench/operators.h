#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/predicted_run.h"
#include "bench/sampler.h"
#include "machine/machine.h"
#include "plan/plan.h"

namespace headroom {

// One operator on one of its large cases, alone.
struct OperatorTiming {
  Problem problem;
  std::string kernel;
  Sampled seconds;
  double flops = 0, bytes = 0;  // minimum, from the schema
  double floor_s = 0;
  PredictedRun predicted;
  std::string bound;      // the limit behind the floor
  std::string level;      // the level that holds inputs and outputs
  double level_rate = 0;  // its bytes per second
  Sampled copy_seconds;   // the C library's copy of as many bytes (half read, half written), in turn
  double bytes_per_s() const { return bytes / seconds.median; }
  double share_of_copy() const { return copy_seconds.median / seconds.median; }
  double share_of_bandwidth() const { return level_rate > 0 ? bytes_per_s() / level_rate : 0; }
};

struct OperatorBench {
  std::vector<OperatorTiming> timings;
  std::vector<std::string> left_out;  // cases that do not run on this device, with the reason
};

// Times the perf cases of the named operators (by default all), in fp32 and warm, `rounds` samples each, on
// random inputs, in turn with a copy of as many bytes on as many threads. On GPUs vectors grow to 400 MB,
// more than their caches hold.
OperatorBench bench_operators(Device& device, const Machine& machine, const Chooser& choose,
                              const std::vector<std::string>& names, int rounds,
                              const std::function<void(const std::string&)>& progress);

}  // namespace headroom
