#pragma once

#include <functional>
#include <optional>
#include <string>

namespace headroom {

// What NVML tells of a GPU over a stretch of time, without the right to read counters (GPM, since Hopper).
// The stretch should last a second: over 25 ms the figures were unusable on an H200.
struct GpmUse {
  double seconds = 0;
  std::optional<double> sm, occupancy, tensor, dram;  // percent of the most; empty: not told
};

// The functions of NVML, so that a test can stand in for a driver.
struct GpmCalls {
  struct Support {
    unsigned version = 1, is_supported = 0;
  };
  struct Metric {
    unsigned id = 0;
    int result = 0;
    double value = 0;
    const char *short_name = nullptr, *long_name = nullptr, *unit = nullptr;
  };
  struct Metrics {
    static constexpr unsigned kRoom = 512;  // more than any version of NVML has
    unsigned version = 1, count = 0;
    void *first = nullptr, *second = nullptr;
    Metric metrics[kRoom];
  };
  int (*support)(void* gpu, Support* support) = nullptr;
  int (*allocate)(void** sample) = nullptr;
  int (*free)(void* sample) = nullptr;
  int (*take)(void* gpu, void* sample) = nullptr;
  int (*compare)(Metrics* metrics) = nullptr;
};

// The use of a GPU while `work` runs. Empty if the GPU does not tell; `why_not` says why.
std::optional<GpmUse> measure_gpm(const GpmCalls& calls, void* gpu, const std::function<void()>& work,
                                  std::string& why_not);
// The same by the driver's NVML. `device`: "cuda:1".
std::optional<GpmUse> measure_gpm(const std::string& device, const std::function<void()>& work,
                                  std::string& why_not);

}  // namespace headroom
