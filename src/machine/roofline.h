#pragma once

#include <functional>
#include <string>

#include "machine/machine.h"

namespace headroom {

// Measures this CPU: FMA rates in fp32 and fp64 on one core and on `threads`, bandwidth of every cache level
// and of memory, the cost of waking the thread team. About `seconds` long. Levels come from /sys; each
// bandwidth is the best of several kinds of stream (read, write, copy), since a floor must not be beaten by
// anything. `progress` hears each stage.
Machine measure_cpu(int threads, double seconds, const std::function<void(const std::string&)>& progress);

}  // namespace headroom
