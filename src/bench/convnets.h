#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "machine/machine.h"
#include "train/engine.h"

namespace headroom {

// A network or a single layer of the convnet benchmarks.
struct ConvnetWorkload {
  std::string name;
  Net net;
  std::int64_t batch = 128;
  bool layer =
      false;  // a layer by itself: the gradient of its input counts too, and there is no step to train
};

// The networks, then the layers L1 to L5; `batch` 0: as published.
std::vector<ConvnetWorkload> convnet_workloads(std::int64_t batch = 0);
std::vector<ConvnetWorkload> layer_workloads(std::int64_t batch = 0);

// How much a description says and how much it sets going.
struct CodeFeatures {
  std::size_t layers = 0, lines = 0;  // of net.json, one layer a line
  std::size_t steps = 0, launches = 0,
              kernels = 0;  // of a training step: launches in all, kernels that differ
};

// One step of a training step, by the device's clock.
struct StepTime {
  std::string problem;
  std::string_view kernel;
  Phase phase;
  double median_s, floor_s;
};

struct ConvnetTiming {
  std::string name;
  std::int64_t batch = 0, parameters = 0;
  // Separate loops: the output is its own gradient; no loss, no update.
  Sampled forward_s, input_gradient_s, weight_gradient_s;
  double flop = 0, floor_s = 0;  // products and sums, and the least time, of all three
  // Whole steps: forward with the loss, backward with the update. No samples for a layer.
  Spread step_forward_s, step_backward_s;
  Sampled step_s;
  double step_flop = 0, step_floor_s = 0;
  double peak_bytes = 0;  // of the device while steps are trained, workspaces included
  CodeFeatures features;
  std::vector<StepTime> steps;  // of a whole step, run one by one

  double backward_s() const { return input_gradient_s.median + weight_gradient_s.median; }
  double total_s() const { return forward_s.median + backward_s(); }
};

struct ConvnetBenchOptions {
  EngineOptions engine;
  int rounds = 5;
  int repeats = 10;   // runs in a sample, with one wait at its end
  bool check = true;  // on a GPU: scores are first held against the CPU's
};

// Each workload by itself, one after the other.
std::vector<ConvnetTiming> bench_convnets(Device& device, const Machine& machine,
                                          const std::vector<ConvnetWorkload>& workloads,
                                          const ConvnetBenchOptions& options,
                                          const std::function<void(const std::string&)>& progress);

}  // namespace headroom
