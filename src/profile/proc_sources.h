#pragma once

#include <memory>
#include <vector>

#include "profile/proc_text.h"
#include "profile/sampler.h"

namespace headroom {

// The cores, how busy and how fast each is; the memory in use. From /proc and /sys.
std::unique_ptr<SampleSource> machine_source();

// A process and all its descendants: CPU time and resident memory. Pages that they share count for each.
std::unique_ptr<SampleSource> process_source(int pid);

// The same processes, now.
std::vector<ProcessState> process_tree(int pid);

}  // namespace headroom
