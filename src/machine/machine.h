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
    double bytes = 0;                 // capacity
    double bytes_per_s = 0;           // all cores together
    double one_core_bytes_per_s = 0;  // 0: not known
  };

  std::string name;   // "h200", "here"
  std::string title;  // "NVIDIA H200 SXM 141 GB"
  std::string kind;   // "gpu" or "cpu"
  bool measured = false;
  std::map<std::string, double>
      peak_flops;  // FLOP/s: fp64, fp64_tensor, fp32, tf32, fp16, bf16, fp16_vector, fp8
  std::map<std::string, double> one_core_peak_flops;  // CPUs
  std::vector<Level> levels;                          // smallest first; the last is main memory
  double launch_s = 0;          // cost of starting one kernel (CPU: waking the thread team)
  double link_bytes_per_s = 0;  // host link, one direction; 0 for CPUs
  int compute_capability = 0;   // 90 for sm_90
  int cores = 0;                // multiprocessors of a GPU
  double power_w = 0;
  std::vector<std::string> notes;  // what a figure rests on: source numbers, what is unconfirmed

  const Level& memory() const { return levels.back(); }
};

Machine machine_from_json(const Json& json,
                          std::string_view origin);  // rejects what is missing, by field name
Json to_json(const Machine& machine);

// Built-in table plus what `roofline` measured on this machine (saved as "here").
std::vector<std::string> machine_names();
Machine find_machine(std::string_view name);  // rejects unknown names with the nearest
void save_machine(const Machine& machine);    // to the cache, atomically

}  // namespace headroom
