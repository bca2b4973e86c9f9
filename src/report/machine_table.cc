#include "report/machine_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>
#include <vector>

#include "base/units.h"

namespace headroom {
namespace {

constexpr std::array<const char*, 10> kPrecisions = {"fp64", "fp64_tensor", "fp32", "tf32", "fp16_vector",
                                                     "fp16", "bf16",        "fp8",  "fp4",  "int8"};

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
               {.key = "one_core", .title = one_core, .unit = "FLOP/s", .format = Column::Format::si},
               {.key = "basis", .title = "basis", .left = true}});
  for (const char* precision : kPrecisions)
    if (const double peak = rate_of(machine.peak_flops, precision); peak > 0)
      sheet.row({precision, peak, peak / machine.memory().bytes_per_s,
                 known(rate_of(machine.one_core_peak_flops, precision)),
                 machine.basis_of(fmt::format("peak_flops.{}", precision))});
  return sheet.text();
}

std::string levels_table(const Machine& machine) {
  const bool one_core = std::ranges::any_of(
      machine.levels, [](const Machine::Level& level) { return level.one_core_bytes_per_s > 0; });
  Sheet sheet(
      "levels",
      {{.key = "level", .title = "level"},
       {.key = "bytes", .title = "capacity", .unit = "B", .format = Column::Format::bytes},
       {.key = "bytes_per_s", .title = "bandwidth", .unit = "B/s", .format = Column::Format::si},
       {.key = "one_core", .title = one_core ? "one core" : "", .unit = "B/s", .format = Column::Format::si},
       {.key = "basis", .title = "basis: capacity, bandwidth", .left = true}});
  for (const Machine::Level& level : machine.levels) {
    const std::string path = fmt::format("levels.{}.", level.name);
    std::string basis = machine.basis_of(path + "bytes");
    if (level.bytes_per_s > 0) basis += ", " + machine.basis_of(path + "bytes_per_s");
    sheet.row({level.name, level.bytes, known(level.bytes_per_s), known(level.one_core_bytes_per_s), basis});
  }
  return sheet.text();
}

// Lines of one figure each, with what it rests on.
class FigureLines {
 public:
  explicit FigureLines(const Machine& machine) : machine_(machine) {}

  void add(const char* what, bool known, const std::string& value, const std::string& field) {
    if (known) text_ += fmt::format("{:<34} {:<14} {}\n", what, value, machine_.basis_of(field));
  }
  void seconds(const char* what, double value, const char* field) {
    add(what, value > 0, human_seconds(value), field);
  }
  void rate(const char* what, double value, const char* field) {
    add(what, value > 0, si(value, "B/s"), field);
  }
  void bytes(const char* what, double value, const char* field) {
    add(what, value > 0, human_bytes(value), field);
  }
  void clock(const char* what, double value, const char* field) {
    add(what, value > 0, fmt::format("{:.0f} MHz", value / 1e6), field);
  }
  void watts(const char* what, double value, const char* field) {
    add(what, value > 0, fmt::format("{:g} W", value), field);
  }
  const std::string& text() const { return text_; }

 private:
  const Machine& machine_;
  std::string text_;
};

std::string figure_lines(const Machine& machine) {
  FigureLines lines(machine);
  const bool gpu = machine.kind == "gpu";
  lines.add(gpu ? "multiprocessors" : "threads", machine.cores > 0, std::to_string(machine.cores), "cores");
  lines.add("compute capability", machine.compute_capability > 0,
            fmt::format("{}.{}", machine.compute_capability / 10, machine.compute_capability % 10),
            "compute_capability");
  lines.add(gpu ? "fp32 lanes of a multiprocessor" : "fp32 lanes of a core", machine.fp32_lanes > 0,
            std::to_string(machine.fp32_lanes), "fp32_lanes");
  lines.clock("base clock", machine.clock_hz.base, "clock_hz.base");
  lines.clock(gpu ? "boost clock" : "boost clock, all cores", machine.clock_hz.boost, "clock_hz.boost");
  lines.clock("boost clock, one core", machine.clock_hz.one_core, "clock_hz.one_core");
  lines.bytes("shared memory, each", machine.shared_bytes, "shared_bytes");
  lines.bytes("registers, each", machine.register_bytes, "register_bytes");
  lines.bytes("vector register", machine.vector_bytes, "vector_bytes");
  lines.seconds(gpu ? "starting one kernel" : "waking the thread team", machine.launch.host_s,
                "launch.host_s");
  for (std::size_t i = 0, threads = 2; i < machine.team_s.size(); ++i, threads *= 2)
    lines.seconds(fmt::format("waking {} threads", threads).c_str(), machine.team_s[i], "team_s");
  lines.seconds("one kernel within a graph", machine.launch.graph_node_s, "launch.graph_node_s");
  lines.seconds("one kernel, waited for", machine.launch.wait_s, "launch.wait_s");
  lines.seconds("waiting for an idle device", machine.launch.synchronize_s, "launch.synchronize_s");
  lines.rate("host link, one direction", machine.host_link.bytes_per_s, "host_link.bytes_per_s");
  lines.rate("upload, pinned", machine.host_link.upload, "host_link.upload");
  lines.rate("download, pinned", machine.host_link.download, "host_link.download");
  lines.rate("upload, pageable", machine.host_link.upload_pageable, "host_link.upload_pageable");
  lines.rate("download, pageable", machine.host_link.download_pageable, "host_link.download_pageable");
  lines.rate("link between GPUs, one direction", machine.peer_bytes_per_s, "peer_bytes_per_s");
  lines.add("GPUs joined by it", machine.peer_gpus > 0, std::to_string(machine.peer_gpus), "peer_gpus");
  lines.add("ranks that exchanged", machine.rank_link.ranks > 0, std::to_string(machine.rank_link.ranks),
            "rank_link.ranks");
  lines.seconds("all-reduce latency", machine.rank_link.latency_s, "rank_link.latency_s");
  lines.rate("all-reduce bandwidth", machine.rank_link.bytes_per_s, "rank_link.bytes_per_s");
  lines.watts("power", machine.power_w, "power_w");
  lines.watts("power when idle", machine.idle_w, "idle_w");
  return lines.text();
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
  std::string text = fmt::format("{}: {}\n", machine.name, machine.title);
  if (!machine.aliases.empty()) text += fmt::format("also called {}\n", fmt::join(machine.aliases, ", "));
  text += "\n" + peaks_table(machine) + "\n" + levels_table(machine) + "\n" + figure_lines(machine);
  for (const char* precision : kPrecisions)
    if (const double burst = rate_of(machine.burst_flops, precision); burst > 0)
      text += fmt::format("{:<34} {}, {}\n", fmt::format("{} at once, and sustained", precision),
                          si(burst, "FLOP/s"), si(rate_of(machine.sustained_flops, precision), "FLOP/s"));
  if (!machine.notes.empty()) text += "\n";
  for (const std::string& note : machine.notes) text += fmt::format("- {}\n", note);
  return text;
}

}  // namespace headroom
