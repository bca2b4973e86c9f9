#include "ops/cpu/parallel.h"

namespace headroom {

int loop_threads(std::int64_t n, std::int64_t grain, int limit) {
  if (grain <= 1) return static_cast<int>(std::clamp<std::int64_t>(n, 1, limit));
  const double grains = static_cast<double>(n) / static_cast<double>(grain);
  return team_costs().threads_for(grains * kGrainSeconds,
                                  std::min(limit, static_cast<int>(std::min(grains, 1e6))));
}

}  // namespace headroom
