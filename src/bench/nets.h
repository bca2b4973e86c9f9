#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/predicted_run.h"
#include "bench/sampler.h"
#include "train/engine.h"

namespace headroom {

struct NetWorkload {
  std::string model;
  std::int64_t batch;
  std::int64_t epoch_images = 0;  // > 0: also time an epoch over this many, kept on the device
};

// The networks of the published cases for this kind of device.
std::vector<NetWorkload> net_workloads(DeviceKind device);

struct NetTiming {
  NetWorkload workload;
  Sampled forward_s, step_s, epoch_s;      // no samples: not timed
  double forward_flop = 0, step_flop = 0;  // products and sums of one batch
  std::int64_t parameters = 0;
  PredictedRun predicted_forward, predicted_step;
  double flop_per_s() const { return step_flop / step_s.median; }
  double forward_flop_per_s() const { return forward_flop / forward_s.median; }
};

// A large GEMM, the baseline for rates. On the CPU the library's own, on a GPU the engine's.
struct Baseline {
  std::int64_t size = 0;
  Sampled seconds;
  int threads = 0;  // CPU: the best setting
  double flop = 0;
  double flop_per_s() const { return flop / seconds.median; }
};

struct NetBench {
  Baseline product;
  std::vector<NetTiming> nets;
};

// Checks each network against the reference kernels on a small batch, then times all of them and the baseline
// in turn, `rounds` times, so that a slow phase of the machine affects all. Random images, initial weights.
// Steps are queued as in training, with a wait at the end of a sample.
NetBench bench_nets(Device& device, const Machine& machine, const EngineOptions& options,
                    const std::vector<NetWorkload>& workloads, int rounds,
                    const std::function<void(const std::string&)>& progress);

}  // namespace headroom
