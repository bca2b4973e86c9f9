#pragma once

#include <functional>
#include <string>

#include "machine/machine.h"

namespace headroom {

class Device;

// Measures this CPU: FMA rates in fp32 and fp64 on one core and on `threads` (0: all), bandwidth of every
// cache level and of memory, the cost of waking the thread team. About `seconds` long. Levels come from /sys;
// each bandwidth is the best of several kinds of stream (read, write, copy, …), since a floor must not be
// beaten by anything. `progress` hears each stage. The result is named "here" and not saved.
Machine measure_cpu(int threads, double seconds,
                    const std::function<void(const std::string&)>& progress = {});

// Of two measurements of one machine, the higher of every ceiling (and the shorter wake-up): processors that
// limit their power, and neighbours, only ever lower what is measured.
Machine higher_ceilings(Machine now, const Machine& before);

// The saved "here" if it was measured on this processor with as many threads; else measures it now (1.5 s is
// enough) and saves it. A cache folder that cannot be written costs the saving only.
Machine here_or_measure(int threads, double seconds, bool keep = true);

// Measures this GPU, about `seconds` long: the rate of each of its units, at its best and when it goes on; L2
// and memory; copies to and from the host; what it costs to start a kernel and to wait for it. Matrix units
// are measured by loops of our own and by the vendor's library where it is there, whichever is faster. The
// result is named "here-gpu" and not saved. Needs some 4 GB of the GPU's memory, less where less is free.
Machine measure_gpu(Device& gpu, double seconds,
                    const std::function<void(const std::string&)>& progress = {});

// The saved "here-gpu" if it was measured on a GPU of this name; else measures it in under 3 s and saves it.
Machine here_gpu_or_measure(Device& gpu);

}  // namespace headroom
