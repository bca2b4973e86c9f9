#include "report/machine_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "base/units.h"

namespace headroom {
namespace {

constexpr std::array<const char*, 9> kPrecisions = {"fp64", "fp64_tensor", "fp32", "tf32", "fp16_vector",
                                                    "fp16", "bf16",        "fp8",  "fp4"};

double rate_of(const std::map<std::string, double>& rates, const char* precision) {
  const auto found = rates.find(precision);
  return found == rates.end() ? 0 : found->second;
}

std::string peaks_table(const Machine& machine) {
  const char* one_core = machine.one_core_peak_flops.empty() ? "" : "one core";
  Sheet sheet("peaks",
              {{.key = "unit", .title = "unit"},
               {.key = "peak", .title = "peak", .unit = "FLOP/s", .format = Column::Format::si},
               {.key = "ridge", .title = "ridge FLOP/B", .format = Column::Format::tenths},
               {.key = "one_core", .title = one_core, .unit = "FLOP/s", .format = Column::Format::si}});
  for (const char* precision : kPrecisions)
    if (const double peak = rate_of(machine.peak_flops, precision); peak > 0)
      sheet.row({precision, peak, peak / machine.memory().bytes_per_s,
                 known(rate_of(machine.one_core_peak_flops, precision))});
  return sheet.text();
}

std::string levels_table(const Machine& machine) {
  const bool one_core = std::ranges::any_of(
      machine.levels, [](const Machine::Level& level) { return level.one_core_bytes_per_s > 0; });
  Sheet sheet("levels",
              {{.key = "level", .title = "level"},
               {.key = "bytes", .title = "capacity", .unit = "B", .format = Column::Format::bytes},
               {.key = "bytes_per_s", .title = "bandwidth", .unit = "B/s", .format = Column::Format::si},
               {.key = "one_core",
                .title = one_core ? "one core" : "",
                .unit = "B/s",
                .format = Column::Format::si}});
  for (const Machine::Level& level : machine.levels)
    sheet.row({level.name, level.bytes, known(level.bytes_per_s), known(level.one_core_bytes_per_s)});
  return sheet.text();
}

}  // namespace

Sheet machine_sheet(std::span<const Machine> machines) {
  using enum Column::Format;
  std::vector<const Machine*> order;
  for (const Machine& machine : machines) order.push_back(&machine);
  std::ranges::stable_sort(order, {}, [](const Machine* m) {
    return std::tuple(m->kind == "cpu", m->compute_capability, rate_of(m->peak_flops, "fp32"));
  });
  Sheet sheet("machines", {{.key = "name", .title = "name"},
                           {.key = "fp64", .title = "fp64", .format = si, .priority = 3},
                           {.key = "fp32", .title = "fp32", .format = si},
                           {.key = "tf32", .title = "tf32", .format = si, .priority = 4},
                           {.key = "fp16", .title = "fp16", .format = si},
                           {.key = "fp8", .title = "fp8", .format = si, .priority = 5},
                           {.key = "memory", .title = "memory", .unit = "B", .format = bytes, .priority = 1},
                           {.key = "bandwidth", .title = "bandwidth", .unit = "B/s", .format = si},
                           {.key = "title", .title = "what it is", .left = true, .wrap = true}});
  for (const Machine* m : order) {
    // Before tensor cores, half precision is the rate of the vector units.
    const double tensor = rate_of(m->peak_flops, "fp16");
    const double half = tensor > 0 ? tensor : rate_of(m->peak_flops, "fp16_vector");
    const auto peak = [&](const char* precision) { return known(rate_of(m->peak_flops, precision)); };
    sheet.row({m->name, peak("fp64"), peak("fp32"), peak("tf32"), known(half), peak("fp8"), m->memory().bytes,
               m->memory().bytes_per_s, m->title});
  }
  return sheet;
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
