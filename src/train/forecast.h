#pragma once

#include "predict/predict.h"
#include "train/engine.h"

namespace headroom {

// The reading that needs no hardware, for the plan that an engine would run there.
struct Forecast {
  Built built;
  Prediction prediction;
  double memory_needed = 0;        // bytes
  double memory_there = 0;         // of the machine; 0: unknown
  std::int64_t largest_batch = 0;  // that fits, where this one does not; 0: none does

  bool fits() const { return memory_there <= 0 || memory_needed <= memory_there; }
};

// The cost of one step of `mode` on a machine. For this machine, the plan is the one the engine runs; for
// another, an operator without a kernel counts with its minimum work. A network from a file in evaluation is
// costed by its forward pass: it need not be a classifier, and some of its nodes may be unknown. `ranks`: the
// ranks that would share the work; they need not exist.
Forecast forecast(const Net& net, const Machine& machine, const EngineOptions& options, Mode mode,
                  std::int64_t batch, int threads = 0, const Distribution& ranks = {});

}  // namespace headroom
