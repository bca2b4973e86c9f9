#pragma once

#include "bench/sampler.h"
#include "train/engine.h"

namespace headroom {

// A training step of one network with and without deterministic kernels.
struct DeterministicOverhead {
  Sampled plain, deterministic;
  double times() const { return deterministic.median / plain.median; }
};

// Times both in turn, each with its own engine, on random numbers that stay on the device.
DeterministicOverhead deterministic_overhead(const Net& net, Device& device, EngineOptions options,
                                             std::int64_t batch);

}  // namespace headroom
