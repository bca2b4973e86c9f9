#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "comm/communicator.h"

namespace headroom {

inline constexpr std::int64_t kLeastAllReduce = 512, kMaxAllReduce = 256 << 20;

// All-reduce of fp32 over all ranks, for one size. Times are those of the slowest rank.
struct AllReduceTiming {
  std::int64_t bytes = 0;
  Sampled seconds;  // start and wait
  Sampled plain;    // MPI_Allreduce on host memory, one call after another; no samples: no MPI
  // GPU memory through the host, per call: copies in both directions, the part not hidden behind messages,
  // and the time from first to last.
  double copy_s = 0, exposed_s = 0, total_s = 0;

  double message_s() const { return total_s - exposed_s; }
  // For small messages, start and wait take longer than the copy: nothing of it is hidden.
  double hidden() const { return copy_s > 0 ? std::max(0.0, 1 - exposed_s / copy_s) : 0; }
  double of_plain() const { return plain.median / seconds.median; }
  // The minimum traffic of each rank's link, both directions counted: a ring sends every byte 2(p-1)/p times.
  double bus_bytes_per_s(int ranks) const {
    return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / seconds.median;
  }
};

// Sizes from kLeastAllReduce to `most`, doubling. `ranks` is for the memory of `device` (null: the host's),
// `host` for host memory on the same ranks. All ranks call it.
std::vector<AllReduceTiming> bench_all_reduce(Communicator& ranks, Communicator& host, Device* device,
                                              std::int64_t most,
                                              const std::function<void(const std::string&)>& progress = {});

}  // namespace headroom
