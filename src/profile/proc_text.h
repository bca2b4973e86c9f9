#pragma once

// Readers of the text in /proc, without the files: the same text gives the same answer on any machine.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace headroom {

// A line of /proc/stat, in clock ticks since the start of the machine.
struct CoreTicks {
  int core = -1;  // -1: all cores together
  std::int64_t busy = 0, all = 0;
};
// Busy is everything but idling and waiting for a disk; time that a hypervisor took away counts as busy.
std::vector<CoreTicks> parse_core_ticks(std::string_view proc_stat);
// Percent busy between two readings of a core. Empty if too few ticks have passed for a share.
std::optional<double> busy_percent(const CoreTicks& earlier, const CoreTicks& later);

// From /proc/meminfo: everything that programs could not get without swapping.
std::optional<double> used_memory_bytes(std::string_view meminfo);

// From /proc/PID/stat.
struct ProcessState {
  int pid = 0, parent = 0;
  bool ended = false;      // a zombie: its times count, its memory is gone
  std::int64_t ticks = 0;  // of CPU time, its own and that of ended children it has waited for
  std::int64_t resident_pages = 0;
};
std::optional<ProcessState> parse_process(std::string_view pid_stat);

// The processes that descend from `root`, and `root` itself.
std::vector<ProcessState> tree_of(int root, const std::vector<ProcessState>& all);

}  // namespace headroom
