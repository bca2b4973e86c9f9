#pragma once

#include <cstdint>

namespace headroom::cuda {

// The block of Philox 4x32-10 that base/random.cc calls block(index): the same bits.
struct PhiloxBlock {
  std::uint32_t word[4];
};

__device__ inline PhiloxBlock philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  constexpr std::uint32_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57, kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;
  auto c0 = static_cast<std::uint32_t>(index), c1 = static_cast<std::uint32_t>(index >> 32);
  auto c2 = static_cast<std::uint32_t>(stream), c3 = static_cast<std::uint32_t>(stream >> 32);
  auto k0 = static_cast<std::uint32_t>(seed), k1 = static_cast<std::uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round, k0 += kW0, k1 += kW1) {
    const std::uint64_t p0 = std::uint64_t{kM0} * c0, p1 = std::uint64_t{kM1} * c2;
    c0 = static_cast<std::uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(p1);
    c2 = static_cast<std::uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(p0);
  }
  return {{c0, c1, c2, c3}};
}

}  // namespace headroom::cuda
