#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "machine/machine.h"

namespace headroom {

inline constexpr std::int64_t kLeastCopy = 4096, kMaxCopy = std::int64_t{1} << 30;

// One way to copy, at one size. The time is that of one copy from an idle device until the host knows that it
// has ended.
struct CopyTiming {
  std::string path;    // "host to device", "memcpy"
  std::string memory;  // "pinned", "pageable", "device"; on a CPU who copies: "2 threads"
  std::int64_t bytes = 0;
  Sampled seconds = {};
  double ceiling = 0;  // bytes per second that no copy can exceed; 0: unknown
  double bytes_per_s() const { return static_cast<double>(bytes) / seconds.median; }
};

// 4 KB, 16 KB, … up to max_bytes. On a GPU: to it, from it and within it; from pinned and from pageable
// memory. On a CPU: memcpy by one thread and by all. Each copy is compared with its source before it is
// timed. Calls `progress` for each size. `machine`: the measured ceilings of the device.
std::vector<CopyTiming> bench_copies(Device& device, const Machine& machine, std::int64_t max_bytes,
                                     const std::function<void(const std::string&)>& progress);

// Rejects sizes out of range or beyond the memories. Allocates nothing.
void require_copies(const Device& device, std::int64_t max_bytes);

// The link to the host that the table of machines has for a GPU of this name; 0: unknown.
double link_of_table(const std::string& gpu_name);

}  // namespace headroom
