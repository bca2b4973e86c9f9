#pragma once

#include <string>

#include "cli/options.h"

namespace headroom::cli {

// What --counters may name: on a CPU with the reason if it cannot be counted here, on a chip of NVIDIA with
// the passes that each set takes. The chip's list needs no GPU.
void list_cpu_counters(const Common& common);
void list_gpu_counters(const Common& common, const std::string& chip);

}  // namespace headroom::cli
