#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/units.h"
#include "train/engine.h"

namespace headroom {

struct NetWorkload {
  std::string model;
  std::int64_t batch;
};

// The networks of the published cases that run on this device.
const std::vector<NetWorkload>& net_workloads();

struct NetTiming {
  NetWorkload workload;
  Spread forward_s, step_s;
  double forward_flop = 0, step_flop = 0;  // products and sums of one batch
  double flop_per_s() const { return step_flop / step_s.median; }
  double forward_flop_per_s() const { return forward_flop / forward_s.median; }
};

// The library's own product of 2048 x 2048 matrices: what a rate is held against.
struct Baseline {
  Spread seconds;
  int threads = 0;  // the best of its settings
  double flop = 0;
  double flop_per_s() const { return flop / seconds.median; }
};

struct NetBench {
  Baseline sgemm;
  std::vector<NetTiming> nets;
};

// Checks each network against the reference kernels on a small batch, then times all of them and the baseline
// in turn, `rounds` times, so that a slow spell of the machine falls on everybody. Random images; weights as
// initialised.
NetBench bench_nets(Device& device, DType dtype, const std::vector<NetWorkload>& workloads, int rounds,
                    const std::function<void(const std::string&)>& progress);

}  // namespace headroom
