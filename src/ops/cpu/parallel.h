#pragma once

#include <algorithm>
#include <cstdint>

#include "base/spans.h"
#include "device/cpu/team.h"

namespace headroom {

inline const SpanName kWorkerSpan{"share of a kernel"};

// How many threads share [0, n). A grain is work for about kGrainSeconds. If it is one item, items are of any
// length, and every thread gets some.
inline constexpr double kGrainSeconds = 4e-6;
int loop_threads(std::int64_t n, std::int64_t grain, int limit);

// Splits [0, n) into one contiguous piece per thread and calls body(begin, end, thread). Small loops stay on
// the calling thread.
template <class Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) {
  const std::int64_t pieces = n < 2 * grain ? 1 : loop_threads(n, grain, team_limit());
  if (pieces == 1) {
    if (n > 0) body(std::int64_t{0}, n, 0);
    return;
  }
  run_team(static_cast<int>(pieces), [&](int thread) {
    const std::int64_t begin = n * thread / pieces, end = n * (thread + 1) / pieces;
    const Span span(kWorkerSpan, SpanKind::worker);
    body(begin, end, thread);
  });
}

// Grain for loops of a few operations per element.
inline constexpr std::int64_t kElementwiseGrain = 16384;

}  // namespace headroom
