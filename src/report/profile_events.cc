#include "report/profile_events.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "profile/trace_scope.h"

namespace headroom {
namespace {

struct EventValues {
  std::string unit;
  std::vector<double> values;
};
using EventTable = std::vector<std::pair<std::string, EventValues>>;

void add_event(EventTable& table, const std::string& name, const char* unit, double value) {
  auto it = std::ranges::find(table, name, &std::pair<std::string, EventValues>::first);
  if (it == table.end()) it = table.insert(table.end(), {name, {unit, {}}});
  it->second.values.push_back(value);
}

void add_launch_delays(EventTable& table, const Trace& trace, const TraceScope& scope) {
  std::unordered_map<std::int64_t, std::int64_t> called;  // the begin of each call
  for (const Trace::Call& call : trace.calls) called.emplace(call.correlation, call.begin_ns);
  std::unordered_map<std::int64_t, std::int64_t> first;  // a graph's kernels share their call
  for (const Trace::Kernel& k : trace.kernels)
    if (scope.holds(k)) first.emplace(k.correlation, k.begin_ns);  // they are in order of their begin
  std::map<std::int64_t, std::int64_t> in_order(first.begin(), first.end());
  for (const auto& [correlation, begin] : in_order)
    if (const auto it = called.find(correlation); it != called.end())
      add_event(table, "from launch to first kernel", "us", 1e-3 * double(begin - it->second));
}

}  // namespace

Sheet events_sheet(const RunProfile& profile) {
  using enum Column::Format;
  const Trace& trace = profile.trace;
  const TraceScope scope(trace);
  EventTable table;
  for (const RunProfile::Loss& loss : profile.losses) add_event(table, "loss", "", loss.value);
  for (const Trace::Copy& copy : trace.copies)
    if (scope.holds(copy))
      add_event(table, fmt::format("copy {}", name_of(copy.kind)), "B", double(copy.bytes));
  for (const Trace::Span& span : trace.spans)
    if (span.kind == SpanKind::data && scope.holds(span))
      add_event(table, trace.text(span.name), "us", 1e6 * span.seconds());
  add_launch_delays(table, trace, scope);

  Sheet sheet("events", {{.key = "event", .title = "event"},
                         {.key = "unit", .title = "unit", .left = true},
                         {.key = "count", .title = "count", .format = commas},
                         {.key = "min", .title = "min", .format = six_digits},
                         {.key = "mean", .title = "mean", .format = six_digits},
                         {.key = "max", .title = "max", .format = six_digits},
                         {.key = "deviation", .title = "deviation", .format = six_digits}});
  for (const auto& [name, event] : table) {
    double sum = 0, squares = 0;
    for (double value : event.values) sum += value;
    const double mean = sum / double(event.values.size());
    for (double value : event.values) squares += (value - mean) * (value - mean);
    const auto [low, high] = std::ranges::minmax(event.values);
    sheet.row({name, event.unit, std::int64_t(event.values.size()), low, mean, high,
               std::sqrt(squares / double(event.values.size()))});
  }
  return sheet;
}

}  // namespace headroom
