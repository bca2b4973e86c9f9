#pragma once

#include <cstdint>

namespace headroom {

// What is done to a sum before it is stored. Plain data, for device code too.
enum class Activation : std::uint8_t { none, relu, sigmoid, tanh };

}  // namespace headroom
