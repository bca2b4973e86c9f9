#pragma once

#include <array>
#include <cstdint>

namespace headroom {

// Philox 4x32-10: a random number is a pure function of (seed, stream, index), so results do not depend on
// threads, ranks, capture or resume. Each consumer has its own stream: see stream_of.
class Philox {
 public:
  explicit Philox(std::uint64_t seed, std::uint64_t stream = 0) : seed_(seed), stream_(stream) {}

  std::array<std::uint32_t, 4> block(std::uint64_t index) const;

  std::uint32_t bits(std::uint64_t index) const;                        // 32 uniform bits
  double uniform(std::uint64_t index) const;                            // [0, 1), with 32 random bits
  double normal(std::uint64_t index) const;                             // mean 0, deviation 1
  std::uint64_t below(std::uint64_t index, std::uint64_t bound) const;  // [0, bound)

 private:
  std::uint64_t seed_, stream_;
};

// Mixes (step, node) or any two numbers into one stream identifier.
constexpr std::uint64_t stream_of(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9E3779B97F4A7C15ull + b + 0x2545F4914F6CDD1Dull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}

}  // namespace headroom
