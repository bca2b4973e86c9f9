#pragma once

#include <functional>
#include <string>

#include "machine/machine.h"

namespace headroom {

class Device;

// Measures this CPU: FMA rates in fp32 and fp64 on one core and on `threads` (0: all), bandwidth of every
// cache level and of memory, the cost of waking the thread team. Takes about `seconds`. Levels come from
// /sys. Each bandwidth is the best of several kinds of stream (read, write, copy, …), since nothing may beat
// a floor. Calls `progress` for each stage. The result is named "here" and not saved.
Machine measure_cpu(int threads, double seconds,
                    const std::function<void(const std::string&)>& progress = {});

// The higher of every ceiling (and the shorter wake-up) of two measurements of one machine: power limits and
// other programs only lower a measurement.
Machine higher_ceilings(Machine now, const Machine& before);

// The saved "here" if it was measured on this processor with as many threads; otherwise measures it now
// (1.5 s is enough) and saves it. If the cache folder cannot be written, only the saving is lost. Calls
// `warn` if the saved file is damaged.
using Warn = std::function<void(const std::string&)>;
Machine here_or_measure(int threads, double seconds, bool keep = true, const Warn& warn = {});

// Measures this GPU in about `seconds`: each unit's peak and sustained rate; L2 and memory; copies to and
// from the host; the cost of starting a kernel and of waiting for it. Matrix units are measured with our own
// loops and with the vendor's library if present; the faster counts. The result is named "here-gpu" and not
// saved. Needs about 4 GB of GPU memory, less if less is free.
Machine measure_gpu(Device& gpu, double seconds,
                    const std::function<void(const std::string&)>& progress = {});

// The saved "here-gpu" if measured on a GPU of this name; otherwise measures it in under 3 s and saves it.
Machine here_gpu_or_measure(Device& gpu, const Warn& warn = {});

}  // namespace headroom
