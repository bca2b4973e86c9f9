#pragma once

#include <cstdint>
#include <string_view>

#include "data/dataset.h"

namespace headroom {

// CRC-32: detects data sets that differ by accident, not forgeries.
std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0);
std::uint32_t checksum_of(const Dataset& data);

}  // namespace headroom
