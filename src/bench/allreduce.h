#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "comm/communicator.h"

namespace headroom {

inline constexpr std::int64_t kLeastAllReduce = 512, kMostAllReduce = 256 << 20;

// All-reduce of fp32 among all ranks, in one size. Times are those of the slowest rank.
struct AllReduceTiming {
  std::int64_t bytes = 0;
  Sampled seconds;  // started and waited for
  Sampled plain;    // MPI_Allreduce on the host's memory, called one after the other; no samples: no MPI
  // Of a GPU's memory through the host's, a call: copies of both directions, those of them that messages did
  // not hide, and from first to last.
  double copy_s = 0, exposed_s = 0, total_s = 0;

  double message_s() const { return total_s - exposed_s; }
  // Of small messages starting and waiting take longer than the copy itself: nothing of that is hidden.
  double hidden() const { return copy_s > 0 ? std::max(0.0, 1 - exposed_s / copy_s) : 0; }
  double of_plain() const { return plain.median / seconds.median; }
  // What each rank's link carries at the least, both directions counted: a ring sends every byte 2(p-1)/p
  // times.
  double bus_bytes_per_s(int ranks) const {
    return 2.0 * (ranks - 1) / ranks * static_cast<double>(bytes) / seconds.median;
  }
};

// Sizes from kLeastAllReduce, twice as many bytes each, to `most`. `ranks` is for the memory of `device`
// (null: the host's), `host` for the host's on the same ranks. All ranks call it.
std::vector<AllReduceTiming> bench_all_reduce(Communicator& ranks, Communicator& host, Device* device,
                                              std::int64_t most,
                                              const std::function<void(const std::string&)>& progress = {});

}  // namespace headroom
