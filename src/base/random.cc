#include "base/random.h"

#include <cmath>
#include <numbers>

namespace headroom {

namespace {

constexpr double kToUnit = 0x1p-32;  // 32 bits to [0, 1): exact, and much quicker than ldexp

}  // namespace

std::array<std::uint32_t, 4> Philox::block(std::uint64_t index) const {
  // Multipliers and key increments of the published generator (Salmon et al., SC 2011).
  constexpr std::uint32_t kM0 = 0xD2511F53, kM1 = 0xCD9E8D57, kW0 = 0x9E3779B9, kW1 = 0xBB67AE85;
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };

  std::array<std::uint32_t, 4> c = {low(index), high(index), low(stream_), high(stream_)};
  std::uint32_t k0 = low(seed_), k1 = high(seed_);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{kM0} * c[0];
    const std::uint64_t p1 = std::uint64_t{kM1} * c[2];
    c = {high(p1) ^ c[1] ^ k0, low(p1), high(p0) ^ c[3] ^ k1, low(p0)};
    k0 += kW0;
    k1 += kW1;
  }
  return c;
}

std::uint32_t Philox::bits(std::uint64_t index) const { return block(index / 4)[index % 4]; }

double Philox::uniform(std::uint64_t index) const { return double(bits(index)) * kToUnit; }

double Philox::normal(std::uint64_t index) const {
  // Box-Muller on one block per pair; the first uniform is never zero.
  const auto b = block(index / 2);
  const double u = (double(b[0]) + 0.5) * kToUnit;
  const double angle = 2 * std::numbers::pi * (double(b[1]) * kToUnit);
  const double radius = std::sqrt(-2 * std::log(u));
  return radius * (index % 2 == 0 ? std::cos(angle) : std::sin(angle));
}

std::uint64_t Philox::below(std::uint64_t index, std::uint64_t bound) const {
  const auto b = block(index);
  const std::uint64_t x = std::uint64_t{b[0]} << 32 | b[1];
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::uint64_t>((static_cast<Wide>(x) * bound) >> 64);
}

}  // namespace headroom
