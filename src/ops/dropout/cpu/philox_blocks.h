#pragma once

#include <cstdint>

namespace headroom {

// A stretch of the numbers Philox::bits gives, made on vectors.
inline constexpr std::int64_t kPhiloxBlocks = 64;
inline constexpr std::int64_t kPhiloxNumbers = 4 * kPhiloxBlocks;

// numbers[i] = Philox(seed, stream).bits(group * kPhiloxNumbers + i)
void philox_numbers(std::uint64_t seed, std::uint64_t stream, std::uint64_t group, std::uint32_t* numbers);

}  // namespace headroom
