#include <set>

#include "profile/gpu_counters.h"
#include "report/counter_columns.h"

namespace headroom {
namespace {

using F = Column::Format;
using Values = std::vector<double>;

constexpr double kSectorBytes = 32;
constexpr int kWarpLanes = 32;

// The first counter divided by the sum of the others.
CounterColumn ratio_column(const char* key, const char* title, std::vector<std::string> needs,
                           double scale = 1, F format = F::hundredths, int priority = 0) {
  return {{.key = key, .title = title, .format = format, .priority = priority},
          std::move(needs),
          [scale](const Values& v, const Counted&) {
            double sum = 0;
            for (std::size_t i = 1; i < v.size(); ++i) sum += v[i];
            return ratio_of(v[0], sum, scale);
          }};
}

CounterColumn sum_column(const char* key, const char* title, std::vector<std::string> needs, Values weights,
                         F format, int priority = 0) {
  return {{.key = key, .title = title, .format = format, .priority = priority},
          std::move(needs),
          [weights = std::move(weights)](const Values& v, const Counted&) {
            double sum = 0;
            for (std::size_t i = 0; i < weights.size(); ++i) sum += weights[i] * v[i];
            return Cell(sum);
          }};
}

CounterColumn occupancy_column() {
  return {{.key = "occupancy_percent", .title = "occupancy %", .format = F::tenths},
          {"warp-cycles", "cycles"},
          [](const Values& v, const Counted& c) { return ratio_of(v[0], v[1] * c.warp_slots, 100); }};
}

std::vector<CounterColumn> count_columns() {
  return {plain_column("launches", "launches", "launches", 1, F::plain, 3),
          plain_column("instructions", "instructions", "instructions", 1, F::si),
          plain_column("issued", "issued", "issued", 1, F::si, 4),
          plain_column("cycles", "cycles", "cycles", 1, F::si, 3),
          plain_column("warp-cycles", "warp_cycles", "warp cycles", 1, F::si, 4),
          plain_column("global-loads", "global_loads", "loads", 1, F::si, 2),
          plain_column("global-stores", "global_stores", "stores", 1, F::si, 2),
          sum_column("atomics", "atomics", {"atomics", "reductions"}, {1, 1}, F::si, 4),
          plain_column("branches", "branches", "branches", 1, F::si, 3)};
}

std::vector<CounterColumn> memory_columns() {
  return {sum_column("dram_mb", "DRAM MB", {"dram-read", "dram-write"}, {1e-6, 1e-6}, F::hundredths),
          plain_column("bytes", "plan_mb", "plan MB", 1e-6, F::hundredths),
          plain_column("l2-bytes", "l2_mb", "L2 MB", 1e-6, F::hundredths, 2),
          plain_column("l2-sectors", "l2_sm_mb", "SM-L2 MB", kSectorBytes * 1e-6, F::hundredths, 3),
          plain_column("bulk-read", "bulk_read_mb", "bulk MB read", 1e-6, F::hundredths, 3),
          plain_column("bulk-write", "bulk_write_mb", "bulk MB written", 1e-6, F::hundredths, 3),
          plain_column("async-copies", "async_copies", "async copies", 1, F::si, 4),
          {{.key = "dram_gb_s", .title = "DRAM GB/s", .format = F::tenths, .priority = 1},
           {"dram-read", "dram-write", "time"},
           [](const Values& v, const Counted&) { return ratio_of(v[0] + v[1], v[2]); }}};
}

std::vector<CounterColumn> flop_columns() {
  std::vector<CounterColumn> list = {
      sum_column("fp32_gflop", "fp32 GFLOP", {"fp32-fma", "fp32-add", "fp32-mul"}, {2e-9, 1e-9, 1e-9},
                 F::ten_thousandths),
      sum_column("fp64_gflop", "fp64 GFLOP", {"fp64-fma", "fp64-add", "fp64-mul"}, {2e-9, 1e-9, 1e-9},
                 F::ten_thousandths, 2)};
  for (const GpuCounter& counter : gpu_counters()) {
    const std::string name = counter.name;
    if (!name.starts_with("tensor-") || name == "tensor-instructions") continue;
    const std::string type = name.substr(name.find('-') + 1);
    list.push_back(plain_column(counter.name, ("tensor_" + type + "_gop").c_str(), (type + " Gop").c_str(),
                                1e-9, F::ten_thousandths, 2));
  }
  list.push_back(plain_column("tensor-instructions", "tensor_instructions", "tensor instr.", 1, F::si, 3));
  list.push_back(plain_column("flops", "plan_gflop", "plan GFLOP", 1e-9, F::ten_thousandths, 1));
  return list;
}

std::vector<CounterColumn> stall_columns() {
  std::vector<CounterColumn> list;  // the usual reasons first: the last go first in a narrow terminal
  for (const GpuCounter& counter : gpu_counters()) {
    std::string title = counter.name;
    if (!title.starts_with("stall-") && title != "not-selected") continue;
    if (title.starts_with("stall-")) title = title.substr(title.find('-') + 1);
    std::string key = counter.name;
    for (char& letter : key)
      if (letter == '-') letter = '_';
    list.push_back(ratio_column((key + "_percent").c_str(), (title + " %").c_str(),
                                {counter.name, "warp-cycles"}, 100, F::tenths,
                                static_cast<int>(list.size())));
  }
  return list;
}

}  // namespace

std::vector<CounterColumn> gpu_ratio_columns() {
  return {
      ratio_column("instructions_per_cycle", "per cycle", {"instructions", "cycles"}),
      ratio_column("warps_per_instruction", "warps/issued", {"warp-cycles", "issued"}),
      ratio_column("instructions_per_access", "issued/access", {"issued", "global-loads", "global-stores"}, 1,
                   F::tenths, 1),
      ratio_column("warps_per_access", "warps/access", {"warp-cycles", "global-loads", "global-stores"}, 1,
                   F::tenths, 2),
      ratio_column("loads_per_instruction", "loads/issued", {"global-loads", "issued"}, 1, F::thousandths),
      ratio_column("stores_per_instruction", "stores/issued", {"global-stores", "issued"}, 1, F::thousandths,
                   1),
      occupancy_column(),
      ratio_column("lanes_percent", "lanes %", {"lane-instructions", "sass-instructions"}, 100.0 / kWarpLanes,
                   F::tenths),
      ratio_column("divergent_percent", "divergent %", {"divergent-branches", "branches"}, 100, F::tenths, 2),
      ratio_column("load_efficiency_percent", "load use %", {"load-bytes", "load-sectors"},
                   100 / kSectorBytes, F::tenths),
      ratio_column("store_efficiency_percent", "store use %", {"store-bytes", "store-sectors"},
                   100 / kSectorBytes, F::tenths, 1)};
}

std::vector<CounterColumn> gpu_counter_columns() {
  std::vector<CounterColumn> all;
  for (auto& part : {count_columns(), gpu_ratio_columns(), memory_columns(), flop_columns(), stall_columns()})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<CounterColumn> metric_columns(const CountedRows& rows) {
  std::set<std::string> names;
  for (const auto& [what, counted] : rows)
    for (const auto& [key, value] : counted.counters)
      if (const std::string name = key.substr(key.find(':') + 1); is_cupti_metric(name)) names.insert(name);
  std::vector<CounterColumn> list;
  for (const std::string& name : names)
    list.push_back(plain_column(name.c_str(), name.c_str(), name.c_str(), 1, F::si));
  return list;
}

}  // namespace headroom
