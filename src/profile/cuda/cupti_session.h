#pragma once

// What all ways to read counters of a GPU share.

#include "profile/cuda/cupti_library.h"

#ifdef HEADROOM_HAS_RANGES

#include <string>

namespace headroom {

// CUPTI's profiler, on while this lives.
class ProfilerSession {
 public:
  ProfilerSession();
  ~ProfilerSession();
  ProfilerSession(const ProfilerSession&) = delete;
  ProfilerSession& operator=(const ProfilerSession&) = delete;
};

// Throws if the device cannot be read in this way, and says why.
void require_profiling(int device, CUpti_Profiler_API api);
std::string chip_name(int device);  // "GH100"; crashes without a driver

}  // namespace headroom

#endif
