#pragma once

#include <cstdint>

namespace headroom {

// How threads share images out: most are taken whole, the others in so many parts each, where whole ones
// would leave threads idle for more than 1 % of the time.
struct ImageShares {
  std::int64_t whole, parts;
};

inline ImageShares image_shares(std::int64_t images, int threads, std::int64_t max_parts) {
  constexpr double kIdle = 1.01;
  const std::int64_t each = images / threads, rest = images % threads;
  ImageShares best{images - rest, 1};
  double shortest = static_cast<double>(each + 1);
  for (std::int64_t parts = 1; rest > 0 && parts <= max_parts; ++parts) {
    const std::int64_t rounds = (rest * parts + threads - 1) / threads;
    const double longest =
        static_cast<double>(each) + static_cast<double>(rounds) / static_cast<double>(parts);
    if (longest < shortest) best.parts = parts, shortest = longest;
    if (longest <= kIdle * static_cast<double>(images) / threads) break;
  }
  return best;
}

}  // namespace headroom
