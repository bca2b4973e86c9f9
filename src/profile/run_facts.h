#pragma once

// T9: what a run ran on, and what its process used. The names of facts are fixed, so that tables of several
// runs can set them side by side; a fact that a machine does not tell is left out.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom {

class Device;

struct RunFact {
  std::string group, name, value, unit = {};  // "GPU", "L2 cache", "51200", "KiB"
  bool operator==(const RunFact&) const = default;
};

// Of all CPUs that are switched on; 0: not known.
struct CpuTopology {
  std::vector<int> cpus;
  int sockets = 0, cores = 0;
  double max_mhz = 0;  // of the fastest
  double mhz = 0;      // now, the mean
};
CpuTopology cpu_topology_in(const std::filesystem::path& root);  // /sys/devices/system/cpu

std::vector<RunFact> host_facts();

struct ProcessUse {
  std::vector<std::string> command;
  std::string folder;
  double user_s = 0, system_s = 0, elapsed_s = 0;  // since the process began; elapsed 0: not known
  std::int64_t minor_faults = 0, major_faults = 0, voluntary_switches = 0, involuntary_switches = 0;
  std::int64_t peak_bytes = 0;
};
ProcessUse process_use();  // until now
std::vector<RunFact> facts_of(const ProcessUse& use);
std::vector<RunFact> process_facts();

// What CUDA tells about a GPU. 0, or an empty text: not known.
struct GpuDescription {
  std::string name, pci, driver, runtime, libraries;
  int compute_capability = 0;  // 90 for sm_90
  int multiprocessors = 0, warp_size = 0, copy_engines = 0, bus_bits = 0;
  double core_khz = 0, memory_khz = 0;
  std::int64_t memory_bytes = 0, constant_bytes = 0, l2_bytes = 0;
  std::int64_t blocks = 0, threads = 0, registers = 0, shared_bytes = 0;  // at most, on one multiprocessor
  std::int64_t block_threads = 0, block_shared_bytes = 0;                 // at most, in one block
  bool ecc = false;
};
std::vector<RunFact> facts_of(const GpuDescription& gpu);
std::vector<RunFact> gpu_facts(Device& device);  // none for a CPU

}  // namespace headroom
