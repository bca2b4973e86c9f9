#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "machine/machine.h"
#include "predict/predict.h"
#include "profile/measurement.h"
#include "train/engine.h"

namespace headroom {

// A network or a single layer of the convnet benchmarks.
struct ConvnetWorkload {
  std::string name;
  Net net;
  std::int64_t batch = 128;
  bool layer = false;  // a single layer: its input gradient counts too, and there is no training step
};

// The networks, then the layers L1 to L5; `batch` 0: as published.
std::vector<ConvnetWorkload> convnet_workloads(std::int64_t batch = 0);
std::vector<ConvnetWorkload> layer_workloads(std::int64_t batch = 0);

// The size of a network's description and of the work it starts.
struct CodeFeatures {
  std::size_t layers = 0, lines = 0;  // of net.json, one layer per line
  std::size_t steps = 0, launches = 0,
              kernels = 0;  // of a training step: total launches, distinct kernels
};

struct ConvnetTiming {
  std::string name;
  std::int64_t batch = 0, parameters = 0;
  // Separate loops: the output is its own gradient; no loss, no update.
  Sampled forward_s, input_gradient_s, weight_gradient_s;
  double flop = 0, floor_s = 0;  // products and sums, and minimum time, of all three
  double input_gradient_flop = 0, weight_gradient_flop = 0;
  // Whole steps: forward with the loss, backward with the update. A layer has no samples.
  Spread step_forward_s, step_backward_s;
  Sampled step_s;
  double step_flop = 0, step_floor_s = 0;
  double peak_bytes = 0;  // of the device during training steps, including workspaces
  CodeFeatures features;
  Plan plan;  // of a whole step
  Prediction prediction;
  Measurement measurement;  // of its steps, run one by one

  double backward_s() const { return input_gradient_s.median + weight_gradient_s.median; }
  double total_s() const { return forward_s.median + backward_s(); }
};

struct ConvnetBenchOptions {
  EngineOptions engine;
  int rounds = 5;
  int repeats = 10;   // runs per sample, with one wait at its end
  bool check = true;  // on a GPU: first compare scores with the CPU's
};

// Each workload alone, one after another.
std::vector<ConvnetTiming> bench_convnets(Device& device, const Machine& machine,
                                          const std::vector<ConvnetWorkload>& workloads,
                                          const ConvnetBenchOptions& options,
                                          const std::function<void(const std::string&)>& progress);

}  // namespace headroom
