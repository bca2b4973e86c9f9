#include "report/profile_rates.h"

#include <algorithm>
#include <map>

#include "profile/rank_trace.h"

namespace headroom {
namespace {

bool is_rated_copy(const Trace::Copy& copy) {
  return copy.kind == Trace::CopyKind::host_to_device || copy.kind == Trace::CopyKind::device_to_host;
}

// The instants at which at least two of the intervals run.
IntervalSet rated_two_at_once(std::vector<Trace::Interval> list) {
  std::ranges::sort(list, {}, &Trace::Interval::begin_ns);
  std::vector<Trace::Interval> twice;
  std::int64_t reached = INT64_MIN;  // the end of all earlier ones: they cover everything up to it
  for (const Trace::Interval& i : list) {
    if (i.begin_ns < reached) twice.push_back({i.begin_ns, std::min(i.end_ns, reached)});
    reached = std::max(reached, i.end_ns);
  }
  return IntervalSet(std::move(twice));
}

// The rows of one rank.
class RateRows {
 public:
  RateRows(Sheet& sheet, int rank) : sheet_(sheet), rank_(rank) {}

  void times(const char* name, double numerator_s, double denominator_s) {
    if (denominator_s <= 0) return;
    sheet_.row({std::string(name), rank_, numerator_s * 1e3, denominator_s * 1e3, std::string("ms / ms"),
                100 * numerator_s / denominator_s, Cell()});
  }
  // `link_s`: how long the link would take for these bytes; 0: unknown.
  void throughput(double bytes, double seconds, double link_s) {
    if (seconds <= 0) return;
    sheet_.row({std::string("memcpy throughput"), rank_, bytes / 1e6, seconds * 1e3, std::string("MB / ms"),
                link_s > 0 ? Cell(100 * link_s / seconds) : Cell(), bytes / seconds / 1e9});
  }

 private:
  Sheet& sheet_;
  std::int64_t rank_;
};

// Copies that begin in the windows, in full: a part of one has no bytes of its own.
void add_rate_of_copies(RateRows& rows, const RunProfile& profile, const RankTrace& own) {
  const Machine::HostLink link =
      profile.record.machine ? profile.record.machine->host_link : Machine::HostLink{};
  double bytes = 0, seconds = 0, link_s = 0;
  bool known_link = true;
  for (const Trace::Copy& copy : profile.trace.copies) {
    const bool inside = !own.window().clipped({copy.begin_ns, copy.begin_ns + 1}).empty();
    if (!is_rated_copy(copy) || !own.contains(copy.lane) || !inside) continue;
    const double direction = copy.kind == Trace::CopyKind::host_to_device ? link.upload : link.download;
    const double rate = direction > 0 ? direction : link.bytes_per_s;
    bytes += double(copy.bytes), seconds += copy.seconds();
    known_link = known_link && rate > 0;
    if (rate > 0) link_s += double(copy.bytes) / rate;
  }
  rows.throughput(bytes, seconds, known_link ? link_s : 0);
}

void add_gpu_rates(RateRows& rows, const RunProfile& profile, const RankTrace& own) {
  const Trace& trace = profile.trace;
  const auto any = [](const auto&) { return true; };
  const IntervalSet kernels = own.of(trace.kernels, any), copies = own.of(trace.copies, is_rated_copy);
  rows.times("memcpy/kernel overlap", (copies & kernels).seconds(), copies.seconds());
  rows.times("kernel concurrency", rated_two_at_once(own.each(trace.kernels, any)).seconds(),
             kernels.seconds());
  add_rate_of_copies(rows, profile, own);
  rows.times("memcpy overlap", rated_two_at_once(own.each(trace.copies, is_rated_copy)).seconds(),
             copies.seconds());
  rows.times("compute utilisation", kernels.seconds(), own.window().seconds());
}

void add_cpu_rates(RateRows& rows, const Trace& trace, const RankTrace& own) {
  const IntervalSet steps = own.main_spans(SpanKind::step) - own.main_spans(kRanksWait);
  rows.times("compute utilisation", steps.seconds(), own.window().seconds());
  std::map<int, std::vector<Trace::Interval>> workers;  // by thread
  for (const Trace::Span& span : trace.spans)
    if (span.kind == SpanKind::worker && own.contains(span.lane)) workers[span.lane].push_back(span);
  double busy_s = 0;
  std::size_t threads = 0;
  for (auto& [lane, list] : workers) {
    const double seconds = (IntervalSet(std::move(list)) & own.window()).seconds();
    if (seconds > 0) busy_s += seconds, ++threads;
  }
  if (threads > 0) rows.times("busy threads", busy_s, double(threads) * own.window().seconds());
}

}  // namespace

Sheet rates_sheet(const RunProfile& profile) {
  using enum Column::Format;
  const std::set<int> ranks = ranks_of(profile.trace);
  Sheet sheet("rates", {{.key = "rate", .title = "rate"},
                        {.key = "rank", .title = ranks.size() > 1 ? "rank" : ""},
                        {.key = "numerator", .title = "numerator"},
                        {.key = "denominator", .title = "denominator"},
                        {.key = "unit", .title = "unit", .left = true},
                        {.key = "percent", .title = "%", .unit = "%", .format = tenths},
                        {.key = "gbytes_per_s", .title = "GB/s", .unit = "GB/s", .format = hundredths}});
  for (int rank : ranks) {
    const RankTrace own(profile.trace, rank);
    RateRows rows(sheet, rank);
    own.has_kernels() ? add_gpu_rates(rows, profile, own) : add_cpu_rates(rows, profile.trace, own);
  }
  return sheet;
}

}  // namespace headroom
