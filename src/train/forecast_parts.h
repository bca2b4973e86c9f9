#pragma once

#include "train/forecast.h"

namespace headroom {

// The parts of a forecast. What to build for a machine:
BuildRequest reading_request(const Net& net, const Machine& machine, const EngineOptions& options, Mode mode,
                             std::int64_t batch, int threads, const Distribution& ranks = {});
// The reading of what was built:
Forecast read_plan(std::shared_ptr<const Built> built, const Machine& machine);

}  // namespace headroom
