// Philox 4x32-10 as in base/random.cc, on many counters side by side: each round is a loop without
// dependences, which compilers turn into widening multiplications.
#include "ops/dropout/cpu/philox_blocks.h"

namespace headroom {
namespace dropout_cpu_philox_blocks_cc {
namespace {

// Blocks per strip: four words of each stay in registers through all ten rounds.
constexpr int kStrip = 16;

struct Strip {
  alignas(64) std::uint32_t word[4][kStrip];
};

void rounds(Strip& s, std::uint32_t k0, std::uint32_t k1) {
  constexpr std::uint32_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57, kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round, k0 += kW0, k1 += kW1)
#pragma omp simd
    for (int i = 0; i < kStrip; ++i) {
      const std::uint64_t p0 = std::uint64_t{kM0} * s.word[0][i];
      const std::uint64_t p1 = std::uint64_t{kM1} * s.word[2][i];
      s.word[0][i] = static_cast<std::uint32_t>(p1 >> 32) ^ s.word[1][i] ^ k0;
      s.word[1][i] = static_cast<std::uint32_t>(p1);
      s.word[2][i] = static_cast<std::uint32_t>(p0 >> 32) ^ s.word[3][i] ^ k1;
      s.word[3][i] = static_cast<std::uint32_t>(p0);
    }
}

}  // namespace
}  // namespace dropout_cpu_philox_blocks_cc

void philox_numbers(std::uint64_t seed, std::uint64_t stream, std::uint64_t group, std::uint32_t* numbers) {
  using namespace dropout_cpu_philox_blocks_cc;
  for (int strip = 0; strip < kPhiloxBlocks / kStrip; ++strip, numbers += 4 * kStrip) {
    // Strips start at multiples of their length, so the upper half of the counter is the same for all of one.
    const std::uint64_t first = group * kPhiloxBlocks + static_cast<std::uint64_t>(strip * kStrip);
    Strip s;
    for (int i = 0; i < kStrip; ++i) {
      s.word[0][i] = static_cast<std::uint32_t>(first) + static_cast<std::uint32_t>(i);
      s.word[1][i] = static_cast<std::uint32_t>(first >> 32);
      s.word[2][i] = static_cast<std::uint32_t>(stream);
      s.word[3][i] = static_cast<std::uint32_t>(stream >> 32);
    }
    rounds(s, static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
    for (int i = 0; i < kStrip; ++i)
      for (int w = 0; w < 4; ++w) numbers[4 * i + w] = s.word[w][i];
  }
}

}  // namespace headroom
