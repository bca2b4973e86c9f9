#pragma once

#include <string>

#include "bench/predicted_run.h"
#include "bench/sampler.h"
#include "train/engine.h"

namespace headroom {

// One network forward on random images with initial weights: images in, scores out, no loss.
struct ForwardTiming {
  std::string model;
  std::int64_t batch = 0, parameters = 0;
  double flop = 0;  // products and sums of a batch
  Sampled forward_s;
  Sampled step_s;  // no samples: not requested
  PredictedRun predicted_forward, predicted_step;
};

struct ForwardRequest {
  std::int64_t batch = 1;
  double seconds = 3;  // for forward and step each; at least three samples
  bool steps = false;  // also training steps with momentum
};

ForwardTiming bench_forward(Device& device, const Machine& machine, const EngineOptions& options,
                            const Net& net, const ForwardRequest& request);

}  // namespace headroom
