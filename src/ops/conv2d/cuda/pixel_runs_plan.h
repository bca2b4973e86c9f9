#pragma once

#include <optional>
#include <string>

#include "ops/conv2d/cuda/pixel_runs.h"

namespace headroom {

// What the plans need to know of a GPU.
struct RunsDevice {
  int multiprocessors, shared_bytes;
};

// Null where the shape is none for runs of pixels; `why` then says so.
std::optional<cuda::RunsPlan> runs_plan(const cuda::Sweep& sweep, const RunsDevice& device, std::string& why);
// Of the gradient of the weights, for the sweep of the forward product.
std::optional<cuda::RunsPlan> runs_weight_plan(const cuda::Sweep& sweep, const RunsDevice& device,
                                               std::string& why);

}  // namespace headroom
