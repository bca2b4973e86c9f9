#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profile/trace.h"

namespace headroom {

// What one multiprocessor has room for.
struct SmLimits {
  int warps = 0, blocks = 0;
  std::int64_t registers = 65536;
  std::int64_t shared_bytes = 0;    // the most of the memory it shares with the L1 cache
  std::int64_t reserved_bytes = 0;  // of them, for the system, per block
  std::int64_t shared_unit = 128;   // a block's share is a multiple of this
};
// By compute capability: 90 for sm_90. Empty for GPUs before Volta and unknown ones.
std::optional<SmLimits> sm_limits(int compute_capability);

// How many blocks of a launch fit on a multiprocessor at once, by NVIDIA's rules, and what keeps more away.
struct KernelOccupancy {
  int blocks = 0, warps = 0;
  double percent = 0;   // of the warps it has room for
  std::string limiter;  // "registers", "shared memory", "warps", "blocks"; "registers, shared memory"
};
KernelOccupancy occupancy_of(const Trace::Kernel& kernel, const SmLimits& limits);

}  // namespace headroom
