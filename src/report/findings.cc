#include "report/findings.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/units.h"
#include "report/findings_search.h"

namespace headroom {

FindingSearch::FindingSearch(const RunProfile& p, int rank)
    : profile(p),
      trace(p.trace),
      own(p.trace, rank),
      replay(p.trace, rank),
      parts(step_parts(p.trace, rank)) {
  captured = std::ranges::any_of(
      trace.kernels, [&](const Trace::Kernel& k) { return k.graph_node != 0 && holds(k, k.lane); });
}

bool FindingSearch::holds(const Trace::Interval& event, int lane) const {
  return own.contains(lane) && !own.window().clipped({event.begin_ns, event.begin_ns + 1}).empty();
}

double FindingSearch::doubled_batch_gain_s(std::function<double(const Trace::Kernel&)> kernel_factor) const {
  const ReplayChange twice = {.kernel_factor = std::move(kernel_factor),
                              .copy_factor = [](const Trace::Copy&) { return 2.0; },
                              .loader_factor = 2};
  return replay.seconds() - replay.seconds(twice) / 2;
}

Finding FindingSearch::finding(std::string name, double seconds, double gain) const {
  return {.name = std::move(name),
          .share = parts.step > 0 ? seconds / parts.step : 0,
          .gain_s = gain,
          .step_s = parts.step};
}

std::optional<Finding> find_launch_bound(const FindingSearch& search) {
  constexpr double kLargeShare = 0.1;
  const StepParts& p = search.parts;
  const double waits = p.launch + p.host;
  if (!search.own.has_kernels() || waits < kLargeShare * p.step) return {};
  const auto launches = std::ranges::count_if(search.trace.calls, [&](const Trace::Call& c) {
    return search.holds(c, c.lane) && search.trace.text(c.name).find("Launch") != std::string::npos;
  });
  const std::string seen = fmt::format(
      "the device is idle for {} of a step while the host launches ({:.1f} "
      "launch calls per step) or works",
      human_seconds(waits), double(launches) / p.steps);
  if (search.captured) {
    const double gain = search.doubled_batch_gain_s([](const Trace::Kernel&) { return 2.0; });
    Finding f = search.finding("launch-bound step", waits, gain);
    f.text = seen + "; steps are captured already, so that only larger ones hide it";
    f.remedy = search.remedy("a larger `batch`: twice the images at each launch",
                             "a larger batch: twice the work at each launch");
    return f;
  }
  const std::optional<Machine>& machine = search.profile.record.machine;
  ReplayChange change{.no_synchronisation = true, .one_launch_per_batch = true};
  if (machine && machine->launch.graph_node_s > 0) change.graph_node_s = machine->launch.graph_node_s;
  Finding f = search.finding("launch-bound step", waits, search.gain_s(change));
  f.text = seen + search.remedy("; kernels are launched one by one, and the host waits for every loss",
                                "; kernels are launched one by one");
  f.remedy = search.remedy("`graph`: a step is one launch", "a CUDA graph: a step is one launch");
  return f;
}

std::optional<Finding> find_waiting_loader(const FindingSearch& search) {
  if (search.parts.loader <= 0) return {};
  const ReplayChange change{.no_loader_waits = true};
  std::set<int> threads;
  double preparing = 0;  // of all loader threads, per step
  for (const Trace::Span& span : search.trace.spans) {
    if (span.kind != SpanKind::data || span.lane == search.own.main()) continue;
    if (!search.holds(span, span.lane)) continue;
    threads.insert(span.lane);
    preparing += span.seconds() / search.parts.steps;
  }
  const double wanted_s = search.replay.seconds(change);
  const int now = std::max<int>(1, int(threads.size()));
  const int enough = wanted_s > 0 ? int(std::ceil(preparing / wanted_s)) : 0;
  Finding f = search.finding("waiting loader", search.parts.loader, search.gain_s(change));
  f.text = fmt::format("a step waits {} for its batch", human_seconds(search.parts.loader));
  if (preparing > 0)
    f.text += fmt::format("; {} loader thread{} need{} {} to prepare one", now, now == 1 ? "" : "s",
                          now == 1 ? "s" : "", human_seconds(preparing));
  f.remedy = fmt::format("`loader-threads` {}", std::max(now + 1, enough));
  return f;
}

namespace {

bool finding_is_allocation(const std::string& name) {
  if (name.find("Async") != std::string::npos) return false;  // from a pool, in the order of a stream
  constexpr std::string_view kBeginnings[] = {"cudaMalloc",       "cudaFree",         "cudaHostAlloc",
                                              "cudaHostRegister", "cuMemAlloc",       "cuMemFree",
                                              "cuMemHostAlloc",   "cuMemHostRegister"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view b) { return name.starts_with(b); });
}

}  // namespace

std::optional<Finding> find_allocations(const FindingSearch& search) {
  std::map<std::string, std::int64_t> counts;
  double seconds = 0;
  for (const Trace::Call& call : search.trace.calls) {
    const std::string& name = search.trace.text(call.name);
    if (!finding_is_allocation(name) || !search.holds(call, call.lane)) continue;
    ++counts[name], seconds += call.seconds() / search.parts.steps;
  }
  if (counts.empty()) return {};
  const ReplayChange change{.call_factor = [&](const Trace::Call& call) {
    return finding_is_allocation(search.trace.text(call.name)) ? 0.0 : 1.0;
  }};
  Finding f = search.finding("repeated allocation", seconds, search.gain_s(change));
  std::string calls;
  for (const auto& [name, count] : counts)
    calls += fmt::format("{}{} {}", calls.empty() ? "" : ", ", count, name);
  f.text = fmt::format("{} in {} steps take {} of each", calls, search.parts.steps, human_seconds(seconds));
  f.remedy = "one allocation before the first step, used again";
  return f;
}

// The ranks that wait would gain what they wait for the last one. The gain is that of the rank that waits
// most.
std::optional<Finding> find_late_rank(const RunProfile& profile) {
  const std::vector<RankWait> waits = waits_for_last_rank(profile.trace);
  std::optional<int> waiting;
  double most = 0;
  for (int rank : ranks_of(profile.trace))
    if (const double s = step_parts(profile.trace, rank).waiting; s > most) most = s, waiting = rank;
  if (!waiting) return {};
  std::map<int, std::int64_t> late_ns;
  const FindingSearch search(profile, *waiting);
  for (const RankWait& wait : waits) late_ns[wait.last_rank] += search.own.window().clipped(wait).length_ns();
  if (late_ns.empty()) return {};
  const auto late = std::ranges::max_element(late_ns, {}, [](const auto& r) { return r.second; });
  const ReplayChange change{.skipped = IntervalSet(waits)};
  Finding f = search.finding("late rank", most, search.gain_s(change));
  f.text = fmt::format("rank {} waits {} of a step for rank {}, which begins exchanges last", *waiting,
                       human_seconds(most), late->first);
  f.remedy = fmt::format(
      "as many cores (`threads`, and mpirun's binding) and as free a device for rank {} as the others have",
      late->first);
  return f;
}

std::vector<Finding> findings_of(const RunProfile& profile) {
  constexpr double kWorthPercent = 1;
  std::vector<Finding> findings;
  const FindingSearch search(profile);
  const auto add = [&](std::optional<Finding> finding) {
    if (finding && finding->gain_percent() > kWorthPercent) findings.push_back(std::move(*finding));
  };
  if (search.parts.steps > 0)
    for (const auto find :
         {find_launch_bound, find_pageable_copies, find_bare_copies, find_waiting_loader, find_allocations,
          find_small_kernels, find_one_stream, find_wide_products, find_fusible_steps})
      add(find(search));
  add(find_late_rank(profile));
  std::ranges::stable_sort(findings, std::greater(), &Finding::gain_percent);
  // One remedy, one gain: of two reasons for a larger batch the one that counts more stays.
  const auto wants_batch = [](const Finding& f) { return f.remedy.starts_with("a larger `batch`"); };
  bool seen = false;
  std::erase_if(findings, [&](const Finding& f) { return wants_batch(f) && std::exchange(seen, true); });
  return findings;
}

std::string findings_text(const std::vector<Finding>& findings, const TableView& view) {
  if (findings.empty()) return paragraph("Nothing was found that would save more than 1 % of a step.", view);
  std::string text;
  for (const Finding& f : findings)
    text += paragraph(fmt::format("{} ({:.1f} % of the step): {}. Try {}. Expected gain: {:.3g} ms of {:.4g} "
                                  "ms, {:.1f} %.",
                                  f.name, 100 * f.share, f.text, f.remedy, f.gain_s * 1e3, f.step_s * 1e3,
                                  f.gain_percent()),
                      view);
  return text;
}

Sheet findings_sheet(const std::vector<Finding>& findings) {
  using enum Column::Format;
  Sheet sheet("findings", {{.key = "finding", .title = "finding"},
                           {.key = "share_percent", .title = "% of step", .unit = "%", .format = tenths},
                           {.key = "gain_ms", .title = "gain ms", .unit = "ms"},
                           {.key = "gain_percent", .title = "gain %", .unit = "%", .format = tenths},
                           {.key = "remedy", .title = "try", .left = true, .wrap = true},
                           {.key = "text", .title = ""}});
  for (const Finding& f : findings)
    sheet.row({f.name, 100 * f.share, f.gain_s * 1e3, f.gain_percent(), f.remedy, f.text});
  return sheet;
}

}  // namespace headroom
