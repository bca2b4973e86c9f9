#pragma once

#include <memory>
#include <string>
#include <vector>

#include "profile/gpu_counters.h"
#include "profile/step_counts.h"

namespace headroom {

inline constexpr const char* kUsualChip = "GH100";  // of the H100 and the H200

// How the counters are split on a chip, by CUPTI; needs no GPU. Throws without CUPTI; rejects an unknown
// chip, and metrics of CUPTI that the chip does not have.
CounterPasses gpu_counter_passes(const std::vector<std::string>& counters, const std::string& chip);

// Before a run: rejects metrics of CUPTI that this GPU does not have.
void require_gpu_counters(Device& device, const std::vector<std::string>& counters);

// A recorder that counts on this GPU. Without CUPTI, without the right to count, or beside another profiler
// it says why and has the plan's own figures alone.
std::unique_ptr<StepCounts> make_gpu_counts(Device& device, const Plan& plan,
                                            const std::vector<std::string>& counters);

}  // namespace headroom
