#pragma once

// Indices as the kernels of the CPU read them.

#include <atomic>

#include "ops/cpu/parallel.h"
#include "ops/gather/gather.h"

namespace headroom {

// Before anything is read: exceptions may not leave a team's loop.
template <class I>
void check_indices(const GatherSizes& g, const I* indices) {
  std::atomic<std::int64_t> first_bad{g.count};
  const auto most = static_cast<std::uint64_t>(g.extent);
  parallel_for(g.count, kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
    bool bad = false;
    for (std::int64_t i = begin; i < end; ++i)
      bad |= static_cast<std::uint64_t>(std::int64_t{indices[i]}) + most >= 2 * most;
    if (!bad) return;
    while (static_cast<std::uint64_t>(std::int64_t{indices[begin]}) + most < 2 * most) ++begin;
    std::int64_t seen = first_bad.load();
    while (begin < seen && !first_bad.compare_exchange_weak(seen, begin)) {
    }
  });
  if (const std::int64_t at = first_bad.load(); at < g.count)
    throw Error(Blame::request,
                fmt::format("{}: index {} at place {} is outside an axis of {} elements", g.op,
                            std::int64_t{indices[at]}, at, g.extent),
                Hint{"indices count from 0, or from -1 backwards; is the table as large as the vocabulary?"});
}

template <class I>
std::int64_t row_of(const GatherSizes& g, I index) {
  return index < 0 ? std::int64_t{index} + g.extent : std::int64_t{index};
}

}  // namespace headroom
