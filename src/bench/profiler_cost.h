#pragma once

#include <array>
#include <functional>
#include <string>

#include "base/units.h"
#include "train/engine.h"

namespace headroom {

// What the profiler costs a training step: blocks of steps with each of its parts on, in turn.
enum class ProfilerMode { never, off, spans, trace, nvtx, after };
inline constexpr int kProfilerModes = 6;
std::string_view name_of(ProfilerMode mode);  // "before the first", "off", "spans", …

struct ProfilerCost {
  std::string model;
  std::int64_t batch = 0, steps_per_block = 0;
  std::array<std::vector<double>, kProfilerModes> block_s =
      {};  // by mode, one per block; empty: not possible
  std::string why_no_trace = {};
  Spread step_s(ProfilerMode mode) const;  // of one step
  // Share by which the median is above that of `off`; of `off`: above that of steps before the first profile.
  double cost(ProfilerMode mode) const;
};

struct ProfilerCostRequest {
  std::int64_t batch = 64;
  std::int64_t blocks = 200;  // of each mode
};

// What counters cost: steps that run one launch after the other, with the set `seed` counted in them.
struct CountingCost {
  std::int64_t steps = 0;  // that the set takes
  double step_s = 0;
  std::vector<std::string> notes = {};  // how they were split, or why there are none
};
// On a GPU to be called before the first measure_profiler(): after a trace no counters can be read.
CountingCost measure_counting(Device& device, const EngineOptions& options, const Net& net,
                              std::int64_t batch);

ProfilerCost measure_profiler(Device& device, const EngineOptions& options, const Net& net,
                              const ProfilerCostRequest& request,
                              const std::function<void(int, int)>& progress);

}  // namespace headroom
