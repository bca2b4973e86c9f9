#include "report/program_sheets.h"

#include <algorithm>
#include <map>

#include "base/demangle.h"
#include "base/text.h"
#include "base/units.h"
#include "profile/call_names.h"
#include "profile/trace_scope.h"
#include "report/kernel_names.h"

namespace headroom {
namespace {

std::string_view program_kind_name(inject::Kind kind) {
  switch (kind) {
    case inject::Kind::kernel:
      return "kernel";
    case inject::Kind::copy:
      return "copy";
    case inject::Kind::call:
      return "call";
    case inject::Kind::range:
      break;
  }
  return "range";
}

std::string program_row_name(const inject::ProcessRecord& process, const inject::What& what) {
  if (what.kind == inject::Kind::copy)
    return fmt::format("{}{}", name_of(static_cast<Trace::CopyKind>(what.copy_kind)),
                       what.pinned != 0 ? "" : ", pageable");
  const std::string& name = process.names[what.name];
  if (what.kind == inject::Kind::kernel) return demangled(name.c_str());
  return what.kind == inject::Kind::call ? call_without_version(name) : name;
}

void add_total(inject::Total& sum, const inject::Total& total) {
  sum.untimed += total.untimed;
  if (total.count == 0) return;
  sum.min_ns = sum.count == 0 ? total.min_ns : std::min(sum.min_ns, total.min_ns);
  sum.max_ns = std::max(sum.max_ns, total.max_ns);
  sum.count += total.count, sum.total_ns += total.total_ns, sum.bytes += total.bytes;
}

struct KernelShare {
  std::int64_t ns = 0, launches = 0;
};
using SharesByNames = std::map<std::pair<int, int>, KernelShare>;  // by range and kernel

double program_steps(const Trace& trace) {
  int steps = 0;
  for (const Trace::Window& window : trace.windows) steps += window.steps;
  return std::max(steps, 1);
}

SharesByNames kernel_shares(const Trace& trace, bool by_range) {
  const TraceScope scope(trace);
  SharesByNames shares;
  for (const Trace::Kernel& kernel : trace.kernels) {
    if (!scope.holds(kernel)) continue;
    KernelShare& share = shares[{by_range ? kernel.range : -1, kernel.name}];
    share.ns += kernel.end_ns - kernel.begin_ns, ++share.launches;
  }
  return shares;
}

std::vector<std::pair<std::pair<int, int>, KernelShare>> largest_first(const SharesByNames& shares) {
  std::vector<std::pair<std::pair<int, int>, KernelShare>> rows(shares.begin(), shares.end());
  std::ranges::stable_sort(rows, std::greater(), [](const auto& row) { return row.second.ns; });
  return rows;
}

}  // namespace

Sheet whole_run_sheet(const std::vector<inject::ProcessRecord>& processes) {
  using enum Column::Format;
  std::map<std::pair<inject::Kind, std::string>, inject::Total> totals;
  for (const inject::ProcessRecord& process : processes)
    for (std::size_t i = 0; i < process.whats.size(); ++i)
      add_total(totals[{process.whats[i].kind, program_row_name(process, process.whats[i])}],
                process.totals[i]);
  std::vector<std::pair<std::pair<inject::Kind, std::string>, inject::Total>> rows(totals.begin(),
                                                                                   totals.end());
  std::ranges::stable_sort(rows, {},
                           [](const auto& row) { return std::pair(row.first.first, -row.second.total_ns); });
  const auto us = [](const char* key, const char* title, int priority) {
    return Column{.key = key, .title = title, .unit = "us", .format = hundredths, .priority = priority};
  };
  Sheet sheet("whole_run", {{.key = "kind", .title = "whole run"},
                            {.key = "short_name", .title = "name", .left = true},
                            {.key = "total_ms", .title = "total ms", .unit = "ms", .format = thousandths},
                            us("average_us", "average us", 1),
                            us("min_us", "min us", 3),
                            us("max_us", "max us", 2),
                            {.key = "count", .title = "count", .format = commas},
                            {.key = "bytes", .title = "", .unit = "B"},
                            {.key = "without_time", .title = ""},
                            {.key = "name", .title = ""}});
  for (const auto& [key, total] : rows) {
    const bool any = total.count > 0;
    sheet.row({std::string(program_kind_name(key.first)), short_kernel_name(key.second),
               1e-6 * double(total.total_ns),
               any ? Cell(1e-3 * double(total.total_ns) / double(total.count)) : Cell(),
               any ? Cell(1e-3 * double(total.min_ns)) : Cell(),
               any ? Cell(1e-3 * double(total.max_ns)) : Cell(), total.count, total.bytes, total.untimed,
               key.second});
  }
  return sheet;
}

Sheet step_kernels_sheet(const Trace& trace) {
  Sheet sheet("step_kernels", {{.key = "name", .title = "kernel"},
                               {.key = "ms_per_step", .title = "ms per step", .unit = "ms"},
                               {.key = "launches_per_step", .title = "launches per step"}});
  const double steps = program_steps(trace);
  for (const auto& [names, share] : largest_first(kernel_shares(trace, false)))
    sheet.row({trace.text(names.second), 1e-6 * double(share.ns) / steps, double(share.launches) / steps});
  return sheet;
}

Sheet range_kernels_sheet(const Trace& trace) {
  using enum Column::Format;
  Sheet sheet("range_kernels",
              {{.key = "range", .title = "range"},
               {.key = "short_name", .title = "kernel", .left = true},
               {.key = "ms_per_step", .title = "ms per step", .unit = "ms", .format = thousandths},
               {.key = "percent", .title = "% of kernel time", .unit = "%", .format = tenths},
               {.key = "launches_per_step", .title = "launches per step", .format = tenths, .priority = 1},
               {.key = "name", .title = ""}});
  const SharesByNames shares = kernel_shares(trace, true);
  if (std::ranges::none_of(shares, [](const auto& share) { return share.first.first >= 0; })) return sheet;
  const double steps = program_steps(trace);
  std::int64_t all_ns = 0;
  for (const auto& [names, share] : shares) all_ns += share.ns;
  for (const auto& [names, share] : largest_first(shares)) {
    const std::string& name = trace.text(names.second);
    sheet.row({names.first >= 0 ? trace.text(names.first) : "(no range)", short_kernel_name(name),
               1e-6 * double(share.ns) / steps,
               all_ns > 0 ? Cell(100 * double(share.ns) / double(all_ns)) : Cell(),
               double(share.launches) / steps, name});
  }
  return sheet;
}

std::string processes_text(const std::vector<inject::ProcessRecord>& processes, const TableView& view) {
  std::int64_t recorded = 0, kept = 0, left_out = 0, untimed = 0, dropped = 0;
  std::vector<std::string> cut;
  for (const inject::ProcessRecord& process : processes) {
    recorded += process.header.recorded, kept += std::int64_t(process.events.size());
    left_out += process.header.left_out, untimed += process.header.untimed;
    dropped += process.header.dropped;
    if (process.header.finished == 0) cut.push_back(fmt::format("{}", process.header.pid));
  }
  std::string text =
      fmt::format("{} with CUDA, {} records.",
                  processes.size() == 1 ? "1 process" : fmt::format("{} processes", processes.size()),
                  with_commas(recorded));
  if (left_out > 0)
    text += fmt::format(
        " The tables of steps come from a window of {} of them; the whole run is in the table of that name.",
        with_commas(kept));
  if (untimed > 0) text += fmt::format(" {} records have no time.", with_commas(untimed));
  if (dropped > 0) text += fmt::format(" CUPTI dropped {} records.", with_commas(dropped));
  if (!cut.empty())
    text += fmt::format(" Process {} did not end by itself: its last second may be missing.",
                        fmt::join(cut, ", "));
  return paragraph(text, view);
}

}  // namespace headroom
