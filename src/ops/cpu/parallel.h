#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>

#include "base/spans.h"

namespace headroom {

inline const SpanName kWorkerSpan{"share of a kernel"};

// Splits [0, n) into one contiguous piece per thread and calls body(begin, end, thread). Pieces are at least
// `grain` long, so small loops stay on the calling thread: waking a team costs about as much as 10k simple
// operations.
template <class Body>
void parallel_for(std::int64_t n, std::int64_t grain, Body&& body) {
  const std::int64_t most = omp_in_parallel() ? 1 : omp_get_max_threads();
  const std::int64_t pieces = std::clamp<std::int64_t>(n / std::max<std::int64_t>(grain, 1), 1, most);
  if (pieces == 1) {
    if (n > 0) body(std::int64_t{0}, n, 0);
    return;
  }
#pragma omp parallel num_threads(static_cast <int>(pieces))
  {
    const std::int64_t t = omp_get_thread_num();
    const std::int64_t begin = n * t / pieces, end = n * (t + 1) / pieces;
    if (begin < end) {
      const Span span(kWorkerSpan, SpanKind::worker);
      body(begin, end, static_cast<int>(t));
    }
  }
}

// Grain for loops of a few operations per element.
inline constexpr std::int64_t kElementwiseGrain = 16384;

}  // namespace headroom
