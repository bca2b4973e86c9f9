#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"

namespace headroom {

// Ceilings of one machine, which no program can exceed there. From a datasheet, or measured here.
struct Machine {
  struct Level {
    std::string name;                 // "L1", "L2", "memory"
    double bytes = 0;                 // capacity of all instances
    double bytes_per_s = 0;           // all cores together; 0: unknown, use the next level
    double one_core_bytes_per_s = 0;  // 0: unknown
  };

  std::string name;                  // "h200", "here"
  std::vector<std::string> aliases;  // other names that find_machine accepts: "v100" for v100-sxm2
  std::string title;                 // "NVIDIA H200 SXM 141 GB"
  std::string kind;                  // "gpu" or "cpu"
  bool measured = false;
  // FLOP/s: fp64, fp64_tensor, fp32, tf32, fp16_vector, fp16, bf16, fp8, fp4, and int8, whose operations are
  // those of integers. Absent: no such unit, or unknown.
  std::map<std::string, double> peak_flops;
  std::map<std::string, double> one_core_peak_flops;  // CPUs
  std::vector<Level> levels;                          // smallest first; the last is main memory
  // The cost of starting work, in seconds; 0: unknown.
  struct LaunchCosts {
    double host_s = 0;         // one kernel after another from the host (CPU: waking the thread team)
    double graph_node_s = 0;   // one kernel within a captured graph
    double wait_s = 0;         // one kernel, and waiting for its end
    double synchronize_s = 0;  // waiting for an idle device
    bool operator==(const LaunchCosts&) const = default;
  };
  LaunchCosts launch;
  std::vector<double> team_s;  // CPUs: waking 2, 4, 8, … threads and waiting for them, in seconds
  // The link between host and device, bytes per second in one direction; 0: unknown.
  struct HostLink {
    double bytes_per_s = 0;  // the faster direction, pinned
    double upload = 0, download = 0, upload_pageable = 0, download_pageable = 0;
    bool operator==(const HostLink&) const = default;
  };
  HostLink host_link;           // of a GPU
  double peer_bytes_per_s = 0;  // NVLink to other GPUs, one direction; 0: none
  std::int64_t peer_gpus = 0;   // how many GPUs such links join; 0: all of a host
  // The result of `bench allreduce` among ranks on this machine; 0 ranks: not measured.
  struct RankLink {
    int ranks = 0;
    double latency_s = 0, bytes_per_s = 0;
    bool operator==(const RankLink&) const = default;
  };
  RankLink rank_link;
  int compute_capability = 0;  // 90 for sm_90
  int cores = 0;               // multiprocessors of a GPU, threads of a CPU
  int fp32_lanes = 0;          // fp32 multiply-adds that one of `cores` finishes per clock; 0: unknown
  // Hertz; 0: unknown. The peaks are those at `boost`: of all cores together.
  struct Clocks {
    double base = 0, boost = 0;
    double one_core = 0;  // CPUs: a single busy core
    bool operator==(const Clocks&) const = default;
  };
  Clocks clock_hz;
  double shared_bytes = 0, register_bytes = 0;  // of one multiprocessor; 0: unknown
  int vector_bytes = 0;                         // CPUs: width of a SIMD register; 0: unknown
  double power_w = 0, idle_w = 0;
  // Measured GPUs: each unit's peak rate, and the rate it sustains under its power limit.
  std::map<std::string, double> burst_flops, sustained_flops;
  // Where figures come from: "published", "computed", "assumed" or "measured", by the path of a field or of
  // its parents ("levels.L2.bytes_per_s", "peak_flops"); "default" is for all others.
  std::map<std::string, std::string> basis;
  std::vector<std::string> notes;  // sources of figures, and what else a reader should know
  std::string
      doubt;  // why this measurement may be wrong; such a machine is not saved. Empty: nothing is known

  const Level& memory() const { return levels.back(); }
  // The smallest level of known rate that holds `bytes`, or a larger one that is faster: what a level holds
  // can be read from that too. Memory if none holds them.
  const Level& level_for(double bytes) const;
  // The basis of one figure: of its longest named parent, otherwise the default. A file that names none holds
  // measured figures if it says so, otherwise assumed ones.
  std::string basis_of(std::string_view field) const;
  // The cost of one kernel after another from the host; what is usual where it is unknown.
  double start_s() const;
};

// A CPU of which only so many threads work: 0 or more than it has: all. Rates that one core is not known to
// reach are shared out evenly, but for main memory, from which a few cores draw more than their share.
Machine with_threads(Machine machine, int threads);

// Rejects missing, misspelt or impossible fields by name; `origin` names the file.
Machine machine_from_json(const Json& json, std::string_view origin);
Json to_json(const Machine& machine);
// The path of every figure that the machine holds: "cores", "peak_flops.fp32", "levels.L2.bytes".
std::vector<std::string> figures_of(const Machine& machine);

// The built-in table plus the user's own files (cache_dir()/machines/NAME.json), which have priority. They
// include what `roofline` measured on this machine: "here" and, with a GPU, "here-gpu".
std::vector<std::string> machine_names();
// A name, an alias, or the path of a JSON file (anything with a '/' or ending in ".json"). Names may be
// written as drivers do: capitals do not matter, a space, '-' and '_' are the same, and the vendor may come
// first ("NVIDIA_H100_80GB_HBM3"). An edited copy of a built-in machine is found by all names of that.
// Rejects unknown names and suggests the nearest.
Machine find_machine(std::string_view name);
void save_machine(const Machine& machine);  // to the user's files, atomically
// Adds the saved `bench allreduce` result of this name, so that it survives the next roofline.
Machine with_saved_link(Machine machine);
std::filesystem::path machine_file(std::string_view name);

}  // namespace headroom
