#include "report/machine_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "base/table.h"
#include "base/units.h"

namespace headroom {
namespace {

constexpr std::array<const char*, 9> kPrecisions = {"fp64", "fp64_tensor", "fp32", "tf32", "fp16_vector",
                                                    "fp16", "bf16",        "fp8",  "fp4"};

double rate_of(const std::map<std::string, double>& rates, const char* precision) {
  const auto found = rates.find(precision);
  return found == rates.end() ? 0 : found->second;
}

std::string or_dash(double value, const char* unit) { return value > 0 ? si(value, unit) : "-"; }

std::string peaks_table(const Machine& machine) {
  const bool one_core = !machine.one_core_peak_flops.empty();
  std::vector<std::string> header = {"unit", "peak", "ridge FLOP/B"};
  if (one_core) header.push_back("one core");
  Table table(header);
  for (const char* precision : kPrecisions) {
    const double peak = rate_of(machine.peak_flops, precision);
    if (peak <= 0) continue;
    std::vector<std::string> row = {precision, si(peak, "FLOP/s"),
                                    fmt::format("{:.1f}", peak / machine.memory().bytes_per_s)};
    if (one_core) row.push_back(or_dash(rate_of(machine.one_core_peak_flops, precision), "FLOP/s"));
    table.row(row);
  }
  return table.str();
}

std::string levels_table(const Machine& machine) {
  const bool one_core = std::ranges::any_of(
      machine.levels, [](const Machine::Level& level) { return level.one_core_bytes_per_s > 0; });
  std::vector<std::string> header = {"level", "capacity", "bandwidth"};
  if (one_core) header.push_back("one core");
  Table table(header);
  for (const Machine::Level& level : machine.levels) {
    std::vector<std::string> row = {level.name, human_bytes(level.bytes), or_dash(level.bytes_per_s, "B/s")};
    if (one_core) row.push_back(or_dash(level.one_core_bytes_per_s, "B/s"));
    table.row(row);
  }
  return table.str();
}

}  // namespace

std::string machine_list_table(std::span<const Machine> machines) {
  std::vector<const Machine*> order;
  for (const Machine& machine : machines) order.push_back(&machine);
  std::ranges::stable_sort(order, {}, [](const Machine* m) {
    return std::tuple(m->kind == "cpu", m->compute_capability, rate_of(m->peak_flops, "fp32"));
  });
  Table table({"name", "fp64", "fp32", "tf32", "fp16", "fp8", "memory", "bandwidth", "what it is"});
  table.left(8);
  for (const Machine* m : order) {
    // Before tensor cores, half precision is the rate of the vector units.
    const double tensor = rate_of(m->peak_flops, "fp16");
    const double half = tensor > 0 ? tensor : rate_of(m->peak_flops, "fp16_vector");
    auto peak = [&](const char* precision) { return or_dash(rate_of(m->peak_flops, precision), ""); };
    table.row({m->name, peak("fp64"), peak("fp32"), peak("tf32"), or_dash(half, ""), peak("fp8"),
               human_bytes(m->memory().bytes), si(m->memory().bytes_per_s, "B/s"), m->title});
  }
  return table.str() +
         "Peaks in FLOP/s, dense, a multiply-add counting two; - : no such unit, or not known.\n";
}

std::string machine_page(const Machine& machine) {
  std::string text = fmt::format("{}: {}{}\n", machine.name, machine.title,
                                 machine.measured ? " (measured)" : " (published figures)");
  if (!machine.aliases.empty()) text += fmt::format("also called {}\n", fmt::join(machine.aliases, ", "));
  text += "\n" + peaks_table(machine) + "\n" + levels_table(machine) + "\n";

  const bool gpu = machine.kind == "gpu";
  auto row = [&](const char* what, const std::string& value, bool known) {
    if (known) text += fmt::format("{:<34} {}\n", what, value);
  };
  row(gpu ? "multiprocessors" : "threads", std::to_string(machine.cores), machine.cores > 0);
  row("compute capability",
      fmt::format("{}.{}", machine.compute_capability / 10, machine.compute_capability % 10),
      machine.compute_capability > 0);
  auto seconds = [&](const char* what, double value) { row(what, human_seconds(value), value > 0); };
  auto rate = [&](const char* what, double value) { row(what, si(value, "B/s"), value > 0); };
  seconds(gpu ? "starting one kernel" : "waking the thread team", machine.launch.host_s);
  seconds("one kernel within a graph", machine.launch.graph_node_s);
  seconds("one kernel, waited for", machine.launch.wait_s);
  seconds("waiting for an idle device", machine.launch.synchronize_s);
  rate("host link, one direction", machine.host_link.bytes_per_s);
  rate("upload, pinned", machine.host_link.upload);
  rate("download, pinned", machine.host_link.download);
  rate("upload, pageable", machine.host_link.upload_pageable);
  rate("download, pageable", machine.host_link.download_pageable);
  rate("link between GPUs, one direction", machine.peer_bytes_per_s);
  row("ranks that exchanged", std::to_string(machine.rank_link.ranks), machine.rank_link.ranks > 0);
  seconds("all-reduce latency", machine.rank_link.latency_s);
  rate("all-reduce bandwidth", machine.rank_link.bytes_per_s);
  row("power", fmt::format("{:.0f} W", machine.power_w), machine.power_w > 0);
  for (const char* precision : kPrecisions)
    if (const double burst = rate_of(machine.burst_flops, precision); burst > 0)
      row(fmt::format("{} at once, and sustained", precision).c_str(),
          fmt::format("{}, {}", si(burst, "FLOP/s"),
                      si(rate_of(machine.sustained_flops, precision), "FLOP/s")),
          true);
  if (!machine.notes.empty()) text += "\n";
  for (const std::string& note : machine.notes) text += fmt::format("- {}\n", note);
  return text;
}

}  // namespace headroom
