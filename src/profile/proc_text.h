#pragma once

// Readers of the text in /proc, without the files: the same text gives the same answer on any machine.

#include <cstdint>
#include <optional>
#include <string>
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
std::optional<double> total_memory_bytes(std::string_view meminfo);

// The present frequency of each CPU in /proc/cpuinfo. Empty on Arm, whose kernel does not print it.
std::vector<double> core_mhz(std::string_view cpuinfo);

// "0-3,8" as in /sys/devices/system/cpu/online. Empty if it is anything else.
std::vector<int> parse_cpu_list(std::string_view text);

// The name for people in /etc/os-release: "Debian GNU/Linux 12 (bookworm)". Empty if there is none.
std::string system_name(std::string_view os_release);

// The words of /proc/PID/cmdline, which a zero byte ends each.
std::vector<std::string> command_words(std::string_view cmdline);

// From /proc/PID/stat.
struct ProcessState {
  int pid = 0, parent = 0;
  bool ended = false;      // a zombie: its times count, its memory is gone
  std::int64_t ticks = 0;  // of CPU time, its own and that of ended children it has waited for
  std::int64_t resident_pages = 0;
  std::int64_t start_ticks = 0;  // since the start of the machine
};
std::optional<ProcessState> parse_process(std::string_view pid_stat);

// The processes that descend from `root`, and `root` itself.
std::vector<ProcessState> tree_of(int root, const std::vector<ProcessState>& all);

}  // namespace headroom
