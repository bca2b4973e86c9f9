#pragma once

#include "device/device.h"

namespace headroom::testing {

// Queues a kernel of one block that runs for this long by the GPU's own clock.
void spin(Stream& stream, std::int64_t ns);

}  // namespace headroom::testing
