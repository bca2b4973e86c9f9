#include <algorithm>
#include <map>
#include <set>

#include "profile/rank_trace.h"
#include "report/profile.h"

namespace headroom {
namespace {

IntervalSet before_last_rank(const Trace& trace, const RankTrace& own) {
  return IntervalSet(waits_for_last_rank(trace)) & own.window();
}

// Gaps between kernels of one launch of a graph: a kernel waits for the one before.
IntervalSet gaps_within_launches(const Trace& trace, const RankTrace& own) {
  std::map<std::int64_t, Trace::Interval> launches;
  for (const Trace::Kernel& k : trace.kernels) {
    if (k.graph_node == 0 || !own.contains(k.lane)) continue;
    const auto [it, is_new] = launches.try_emplace(k.correlation, Trace::Interval{k.begin_ns, k.end_ns});
    if (is_new) continue;
    it->second.begin_ns = std::min(it->second.begin_ns, k.begin_ns);
    it->second.end_ns = std::max(it->second.end_ns, k.end_ns);
  }
  std::vector<Trace::Interval> list;
  for (const auto& [correlation, interval] : launches) list.push_back(interval);
  return IntervalSet(list) & own.window();
}

// Cuts what is left of the window into parts, each taking what no earlier one took.
class Cutter {
 public:
  explicit Cutter(IntervalSet window, double steps) : left_(std::move(window)), steps_(steps) {}
  double take(const IntervalSet& part) {
    const double seconds = (left_ & part).seconds() / steps_;
    left_ = left_ - part;
    return seconds;
  }
  double rest() const { return left_.seconds() / steps_; }

 private:
  IntervalSet left_;
  double steps_;
};

void cut_gpu(StepParts& p, Cutter& cut, const Trace& trace, const RankTrace& own) {
  const auto is_exchange = [&](const Trace::Kernel& k) { return is_exchange_kernel(trace.text(k.name)); };
  p.compute = cut.take(own.of(trace.kernels, [&](const Trace::Kernel& k) { return !is_exchange(k); }));
  const IntervalSet exchanges = own.of(trace.kernels, is_exchange) | own.main_spans(kRanksWait);
  p.waiting = cut.take(exchanges & before_last_rank(trace, own));
  p.transfer = cut.take(exchanges);
  p.copies = cut.take(own.of(trace.copies, [](const Trace::Copy&) { return true; }));
  p.dependency = cut.take(gaps_within_launches(trace, own));
  p.loader = cut.take(own.main_spans(kLoaderWait));
  const auto name_has = [&](const Trace::Call& c, std::string_view part) {
    return trace.text(c.name).find(part) != std::string::npos;
  };
  p.synchronisation = cut.take(own.of(trace.calls, [&](const Trace::Call& c) {
    return name_has(c, "Synchronize");
  }) | own.main_spans(SpanKind::wait));
  p.launch = cut.take(own.of(trace.calls, [](const Trace::Call&) { return true; }));
  p.host = cut.rest();
}

void cut_cpu(StepParts& p, Cutter& cut, const Trace& trace, const RankTrace& own) {
  const IntervalSet waits = own.main_spans(kRanksWait);
  p.waiting = cut.take(waits & before_last_rank(trace, own));
  p.transfer = cut.take(waits);
  p.compute = cut.take(own.main_spans(SpanKind::step));
  p.loader = cut.take(own.main_spans(kLoaderWait));
  p.copies = cut.take(own.main_spans(SpanKind::copy));
  p.synchronisation = cut.take(own.main_spans(SpanKind::wait));
  p.host = cut.rest();
}

struct StepPartRow {
  const char* part;
  double StepParts::*seconds;
};
constexpr StepPartRow kStepRows[] = {
    {"compute", &StepParts::compute},
    {"communication: transfer", &StepParts::transfer},
    {"communication: waiting for the last rank", &StepParts::waiting},
    {"copies not hidden", &StepParts::copies},
    {"host", &StepParts::host},
    {"idle: launch", &StepParts::launch},
    {"idle: loader", &StepParts::loader},
    {"idle: synchronisation", &StepParts::synchronisation},
    {"idle: dependency", &StepParts::dependency},
};

}  // namespace

StepParts step_parts(const Trace& trace, int rank) {
  const RankTrace own(trace, rank);
  StepParts parts;
  parts.steps = own.steps();
  if (parts.steps == 0) return parts;
  parts.step = own.window().seconds() / parts.steps;
  Cutter cut(own.window(), parts.steps);
  own.has_kernels() ? cut_gpu(parts, cut, trace, own) : cut_cpu(parts, cut, trace, own);
  return parts;
}

Sheet step_sheet(const Trace& trace) {
  using enum Column::Format;
  const std::set<int> ranks = ranks_of(trace);
  std::vector<Column> columns = {{.key = "part", .title = "part of a step"}};
  std::vector<StepParts> parts;
  for (int rank : ranks) {
    const std::string of = ranks.size() > 1 ? fmt::format("rank {} ", rank) : "";
    const std::string key = ranks.size() > 1 ? fmt::format("rank{}_", rank) : "";
    columns.push_back({.key = key + "ms", .title = of + "ms", .unit = "ms", .dash_zero = true});
    columns.push_back(
        {.key = key + "percent", .title = of + "%", .unit = "%", .format = tenths, .dash_zero = true});
    parts.push_back(step_parts(trace, rank));
  }
  Sheet sheet("step", columns);
  for (const StepPartRow& row : kStepRows) {
    std::vector<Cell> cells = {std::string(row.part)};
    for (const StepParts& p : parts)
      cells.insert(cells.end(), {p.*row.seconds * 1e3, p.step > 0 ? 100 * p.*row.seconds / p.step : 0});
    sheet.row(cells);
  }
  std::vector<Cell> total = {std::string("step")};
  for (const StepParts& p : parts) total.insert(total.end(), {p.step * 1e3, 100.0});
  sheet.total(total);
  return sheet;
}

Sheet split_sheet(const Trace& trace) {
  using enum Column::Format;
  Sheet sheet("split", {{.key = "rank", .title = "rank"},
                        {.key = "htod_ms", .title = "HtoD ms", .unit = "ms", .dash_zero = true},
                        {.key = "dtoh_ms", .title = "DtoH ms", .unit = "ms", .dash_zero = true},
                        {.key = "kernel_ms", .title = "kernel ms", .unit = "ms"},
                        {.key = "cpu_ms", .title = "CPU ms", .unit = "ms"},
                        {.key = "total_ms", .title = "total ms", .unit = "ms"}});
  for (int rank : ranks_of(trace)) {
    const RankTrace own(trace, rank);
    if (own.steps() == 0) continue;
    const double each = 1e3 / own.steps();
    const auto copies = [&](Trace::CopyKind kind) {
      return own.of(trace.copies, [&](const Trace::Copy& c) { return c.kind == kind; });
    };
    const IntervalSet to = copies(Trace::CopyKind::host_to_device),
                      from = copies(Trace::CopyKind::device_to_host);
    const IntervalSet kernels = own.has_kernels()
                                    ? own.of(trace.kernels, [](const Trace::Kernel&) { return true; })
                                    : own.main_spans(SpanKind::step);
    const IntervalSet rest = own.window() - (to | from | kernels);
    sheet.row({std::int64_t{rank}, to.seconds() * each, from.seconds() * each, kernels.seconds() * each,
               rest.seconds() * each, own.window().seconds() * each});
  }
  return sheet;
}

}  // namespace headroom
