#include "report/profile_kernels.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "base/units.h"
#include "profile/trace_scope.h"
#include "report/kernel_names.h"

namespace headroom {
namespace {

constexpr double kMajorityPercent = 90;

using TimesByName = std::map<std::string_view, std::vector<double>>;  // nanoseconds

template <class Event>
void collect_times(TimesByName& times, const Trace& trace, const TraceScope& scope, const Event& event) {
  if (scope.holds(event)) times[trace.text(event.name)].push_back(double(event.end_ns - event.begin_ns));
}

Sheet times_sheet(const char* title, const TimesByName& times) {
  using enum Column::Format;
  Sheet sheet(title,
              {{.key = "time_percent", .title = "time %", .unit = "%", .format = tenths},
               {.key = "total_ms", .title = "total ms", .unit = "ms", .format = thousandths},
               {.key = "calls", .title = "calls", .format = commas},
               {.key = "average_us", .title = "average us", .unit = "us", .format = hundredths},
               {.key = "min_us", .title = "min us", .unit = "us", .format = hundredths, .priority = 2},
               {.key = "max_us", .title = "max us", .unit = "us", .format = hundredths, .priority = 1},
               {.key = "median_us", .title = "median us", .unit = "us", .format = hundredths, .priority = 3},
               {.key = "short_name", .title = "name", .left = true},
               {.key = "name", .title = ""}});
  struct Named {
    std::string_view name;
    double total;
    Spread ns;
  };
  std::vector<Named> rows;
  double all = 0;
  for (const auto& [name, ns] : times) {
    rows.push_back({name, std::accumulate(ns.begin(), ns.end(), 0.0), spread_of(ns)});
    all += rows.back().total;
  }
  std::ranges::stable_sort(rows, std::greater(), &Named::total);
  for (const Named& row : rows)
    sheet.row({all > 0 ? Cell(100 * row.total / all) : Cell(), row.total / 1e6, row.ns.samples,
               row.ns.mean / 1e3, row.ns.min / 1e3, row.ns.max / 1e3, row.ns.median / 1e3,
               short_kernel_name(row.name), std::string(row.name)});
  return sheet;
}

}  // namespace

Sheet kernels_sheet(const Trace& trace) {
  const TraceScope scope(trace);
  TimesByName times;
  for (const Trace::Kernel& kernel : trace.kernels) collect_times(times, trace, scope, kernel);
  if (trace.kernels.empty())
    for (const Trace::Span& span : trace.spans)
      if (span.kind == SpanKind::step) collect_times(times, trace, scope, span);
  return times_sheet("kernels", times);
}

Sheet calls_sheet(const Trace& trace) {
  const TraceScope scope(trace);
  TimesByName times;
  for (const Trace::Call& call : trace.calls) collect_times(times, trace, scope, call);
  return times_sheet("calls", times);
}

Majority majority_of(const Sheet& sheet) {
  Majority majority{.of = static_cast<std::int64_t>(sheet.rows())};
  while (majority.rows < majority.of && majority.percent <= kMajorityPercent) {
    const auto* percent =
        std::get_if<double>(&sheet.at(static_cast<std::size_t>(majority.rows), "time_percent"));
    if (percent == nullptr) break;  // no time at all
    majority.percent += *percent;
    ++majority.rows;
  }
  return majority;
}

std::string majority_sentence(const Sheet& sheet, std::string_view noun, std::string_view time) {
  const Majority m = majority_of(sheet);
  if (m.of == 0) return "";
  if (m.rows == 0) return fmt::format("{} without any time.", counted(m.of, noun));
  return fmt::format("{} of {} {} {:.1f} % of the {}.", with_commas(m.rows), counted(m.of, noun),
                     m.rows == 1 ? "takes" : "take", m.percent, time);
}

}  // namespace headroom
