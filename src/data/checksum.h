#pragma once

#include <cstdint>
#include <string_view>

#include "data/dataset.h"

namespace headroom {

// CRC-32: detects data sets that differ by accident, not forgeries.
std::uint32_t checksum(std::string_view bytes, std::uint32_t before = 0);
std::uint32_t checksum_of(const Dataset& data);

// CRC-32C, by another polynomial than zlib's: TensorBoard's records are checked by it.
std::uint32_t crc32c(std::string_view bytes);

}  // namespace headroom
