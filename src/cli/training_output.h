#pragma once

#include <optional>

#include "bench/deterministic_overhead.h"
#include "cli/best_weights.h"
#include "cli/options.h"
#include "cli/run_setup.h"
#include "report/training.h"

namespace headroom::cli {

// The result of a training: the layer table and the closing lines, or one JSON object. What a run does not
// have is null.
void print_result(const FinishedTraining& finished, const Common& common,
                  const std::optional<DeterministicOverhead>& overhead, const BestWeights* best,
                  const EvalResult* outside);
void print_what_is_next();  // after the demo

// Ends a run that a signal stopped: says what was saved.
[[noreturn]] void leave(const RunRequest& request, const TrainResult& result);

}  // namespace headroom::cli
