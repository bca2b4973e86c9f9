#pragma once

#include <cstdint>
#include <string_view>

#include "device/device.h"

namespace headroom {

// Bytes of host memory that a benchmark may fill: most of what programs can get without swapping.
double usable_host_bytes();
// The same for a device: most of what is free on it.
double usable_bytes(const Device& device);

// Rejects work that would need more than `usable` bytes, before anything is allocated. `what` names it with
// its setting ("`elements` 5000000000"), `where` the memory; `fits` is the largest number of `of` that would
// do.
void require_fits(std::string_view what, double bytes, double usable, std::string_view where,
                  std::int64_t fits, std::string_view of);

}  // namespace headroom
