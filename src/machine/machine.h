#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace headroom {

// Ceilings of one machine: what no program can exceed there. From a datasheet, or measured here.
struct Machine {
  struct Level {
    std::string name;                 // "L1", "L2", "memory"
    double bytes = 0;                 // capacity, all instances together
    double bytes_per_s = 0;           // all cores together; 0: not known, charge at the next level
    double one_core_bytes_per_s = 0;  // 0: not known
  };

  std::string name;                  // "h200", "here"
  std::vector<std::string> aliases;  // other names find_machine takes: "v100" for v100-sxm2
  std::string title;                 // "NVIDIA H200 SXM 141 GB"
  std::string kind;                  // "gpu" or "cpu"
  bool measured = false;
  // FLOP/s: fp64, fp64_tensor, fp32, tf32, fp16_vector, fp16, bf16, fp8, fp4. Absent: no such unit, or
  // unknown.
  std::map<std::string, double> peak_flops;
  std::map<std::string, double> one_core_peak_flops;  // CPUs
  std::vector<Level> levels;                          // smallest first; the last is main memory
  double launch_s = 0;          // cost of starting one kernel (CPU: waking the thread team)
  double link_bytes_per_s = 0;  // host link, one direction; 0 for CPUs
  double peer_bytes_per_s = 0;  // NVLink to other GPUs, one direction; 0: none
  int compute_capability = 0;   // 90 for sm_90
  int cores = 0;                // multiprocessors of a GPU, threads of a measured CPU
  double power_w = 0;
  // What else was measured, by name: "burst_fp32", "upload_pinned", "graph_kernel", …
  struct Figure {
    double value = 0;
    std::string unit;  // "FLOP/s", "B/s", "s"
    bool operator==(const Figure&) const = default;
  };
  std::map<std::string, Figure> extras;
  std::vector<std::string> notes;  // what a figure rests on: sources, what is unconfirmed

  const Level& memory() const { return levels.back(); }
  // The smallest level of known rate that holds `bytes`; what fits none of them is charged to memory.
  const Level& level_for(double bytes) const;
};

// Rejects what is missing, misspelt or out of range, by field name; `origin` says whose field it is.
Machine machine_from_json(const Json& json, std::string_view origin);
Json to_json(const Machine& machine);

// Built-in table plus the user's own files (cache_dir()/machines/NAME.json), which take precedence; what
// `roofline` measured on this machine is among them: "here" and, where there is a GPU, "here-gpu".
std::vector<std::string> machine_names();
// A name, an alias, or the path of a JSON file (anything with a '/' or ending in ".json"). Rejects unknown
// names with the nearest.
Machine find_machine(std::string_view name);
void save_machine(const Machine& machine);  // to the user's files, atomically
// With what `bench allreduce` has told of the machine saved under this name: it outlasts the next roofline.
Machine with_saved_link(Machine machine);
inline constexpr std::string_view kLinkLatency = "allreduce_latency", kLinkBandwidth = "allreduce_bandwidth",
                                  kLinkRanks = "allreduce_ranks";  // names of extras
std::filesystem::path machine_file(std::string_view name);

}  // namespace headroom
