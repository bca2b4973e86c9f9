#pragma once

#include "base/units.h"
#include "train/engine.h"

namespace headroom {

// What a training step takes by itself, on one batch of random numbers that stays where it is: `samples`
// means of several steps each. Changes the weights of the engine.
Spread step_seconds(Engine& engine, std::int64_t batch, int samples = 5);

// The same for two ways to run one network, in turn; the weights are those of new engines.
struct DeterministicOverhead {
  Spread plain, deterministic;
  double times() const { return deterministic.median / plain.median; }
};
DeterministicOverhead deterministic_overhead(const Net& net, Device& device, EngineOptions options,
                                             std::int64_t batch);

}  // namespace headroom
