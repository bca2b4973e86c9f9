#pragma once

#include <string>
#include <vector>

#include "base/json_fwd.h"
#include "bench/sampler.h"

namespace headroom {

// Milliseconds: median, p10, p90, samples; dropped: disturbed samples; settled: the noise is within its
// bound.
Json spread_json(const Sampled& seconds);

// A line to print below a table of medians: how many samples were dropped, how many medians are noisy. Empty
// if there are none of either.
std::string sampling_note(const std::vector<Sampled>& medians);

}  // namespace headroom
