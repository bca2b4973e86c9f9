#pragma once

#include <memory>
#include <optional>
#include <span>

#include "predict/predict.h"
#include "train/engine.h"

namespace headroom {

// The reading that needs no hardware, for the plan that an engine would run there.
struct Forecast {
  std::shared_ptr<const Built> built;  // machines with the same plan share it; null if it was not kept
  Prediction prediction;
  std::int64_t batch = 0;
  double memory_needed = 0;        // bytes
  double memory_there = 0;         // of the machine; 0: unknown
  bool by_libraries = false;       // no kernel of ours can be built for this GPU
  std::int64_t largest_batch = 0;  // that fits, where this one does not; 0: none does, or nobody asked

  bool fits() const { return memory_there <= 0 || memory_needed <= memory_there; }
};

// The cost of one step of `mode` on a machine. For this machine, the plan is the one the engine runs; for
// another, an operator without a kernel counts with its minimum work. A network from a file in evaluation is
// costed by its forward pass: it need not be a classifier, and some of its nodes may be unknown. `ranks`: the
// ranks that would share the work; they need not exist.
Forecast forecast(const Net& net, const Machine& machine, const EngineOptions& options, Mode mode,
                  std::int64_t batch, int threads = 0, const Distribution& ranks = {});

// A forecast, or the reason why there is none.
struct Outlook {
  std::optional<Forecast> forecast;
  std::optional<Error> why_not;
};

// The same for many machines, in their order, with far less work: passes that depend only on the kind of
// device run once, machines with the same plan share it, and all cores help. Does not look for the largest
// batch that fits. Who needs only the totals does not keep the plans: they are most of the memory.
std::vector<Outlook> forecast_many(const Net& net, std::span<const Machine> machines,
                                   const EngineOptions& options, Mode mode, std::int64_t batch,
                                   int threads = 0, bool keep_plans = true);

}  // namespace headroom
