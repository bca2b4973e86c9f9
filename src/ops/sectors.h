#pragma once

// How many bytes come through the L2 cache of a GPU for pieces that do not fit its sectors of 32 bytes.

#include <cstdint>
#include <numeric>

namespace headroom {

inline constexpr std::int64_t kSectorBytes = 32;

// The sectors of a run of bytes that begins at any multiple of `step` bytes, on average.
inline double touched_bytes(std::int64_t run, std::int64_t step) {
  const std::int64_t places = std::gcd(step, kSectorBytes);
  if (places == kSectorBytes) return double((run + kSectorBytes - 1) / kSectorBytes * kSectorBytes);
  return double(run + kSectorBytes - places);
}

// The same of a row of elements that a kernel takes in chunks.
inline double chunked_bytes(std::int64_t row, std::int64_t chunk, std::int64_t element, std::int64_t step) {
  const std::int64_t places = std::gcd(step, chunk * element), rest = row % chunk;
  return double(row / chunk) * touched_bytes(chunk * element, places) +
         (rest > 0 ? touched_bytes(rest * element, places) : 0);
}

}  // namespace headroom
