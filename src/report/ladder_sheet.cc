#include "report/ladder_sheet.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "report/counter_sheets.h"
#include "report/sampling.h"
#include "report/work_columns.h"

namespace headroom {
namespace {

std::string published_cell(const LadderRun& run, const std::string& rung) {
  std::vector<std::string> parts;
  for (const PublishedRung& p : run.published) {
    if (p.rung != rung) continue;
    parts.push_back(p.low_s == p.high_s
                        ? fmt::format("{:.4g} {}", p.low_s * 1e3, p.source)
                        : fmt::format("{:.4g} to {:.4g} {}", p.low_s * 1e3, p.high_s * 1e3, p.source));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string spread_cell(const Sampled& s) {
  if (s.samples < 2) return "";
  return fmt::format("{} to {}", fixed_or_small(s.p10 * 1e3), fixed_or_small(s.p90 * 1e3));
}

Cell text_or_empty(std::string text) { return text.empty() ? Cell() : Cell(std::move(text)); }

std::string_view outcome_name(RungResult::Outcome outcome) {
  switch (outcome) {
    case RungResult::Outcome::timed:
      return "timed";
    case RungResult::Outcome::wrong:
      return "wrong";
    default:
      return "left out";
  }
}

bool any_counted(const LadderRun& run) {
  return std::ranges::any_of(run.rungs, [](const RungResult& r) { return r.counted.has_value(); });
}

const RungResult* before_of(const LadderRun& run, const RungResult& result) {
  const RungResult* above = nullptr;
  for (const RungResult& other : run.rungs) {
    if (&other == &result) break;
    if (other.timed()) above = &other;
  }
  for (const RungResult& other : run.rungs)
    if (other.timed() && other.rung.name == result.rung.builds_on) above = &other;
  return above;
}

std::string work_sentence(const RungResult& r) {
  const double loaded = l2_bytes(r.work);
  std::string text = fmt::format("It does {} and moves {} to and from memory", si(r.work.flops(), "FLOP"),
                                 human_bytes(r.work.bytes()));
  if (loaded > r.work.bytes()) text += fmt::format("; its loops ask the caches for {}", human_bytes(loaded));
  return text + ".";
}

std::string outcome_sentence(const LadderRun& run, const RungResult& r) {
  const std::string rate =
      fmt::format("{}, {:.1f} % of the roofline", si(run.cost.flops() / r.seconds.median, "FLOP/s"),
                  run.percent_of_roofline(r));
  const RungResult* before = before_of(run, r);
  if (before == nullptr || r.over_before == 0) return fmt::format("It reaches {}.", rate);
  constexpr double kNoise = 0.05;
  if (r.over_before > 1 + kNoise)
    return fmt::format("It helped: {:.3g} times as fast as {}, at {}.", r.over_before, before->rung.name,
                       rate);
  if (r.over_before > 1 - kNoise)
    return fmt::format("It changed nothing beyond noise: {:.3g} times as fast as {}, at {}.", r.over_before,
                       before->rung.name, rate);
  return fmt::format("It did not help: {} was {:.3g} times as fast; this one reaches {}.", before->rung.name,
                     1 / r.over_before, rate);
}

Json rung_json(const LadderRun& run, const RungResult& r) {
  Json json = {{"rung", r.rung.name},
               {"kernel", r.rung.kernel},
               {"idea", r.rung.title},
               {"builds_on", r.rung.builds_on},
               {"outcome", outcome_name(r.outcome)}};
  if (!r.rung.variant.empty()) json["variant"] = r.rung.variant;
  if (!r.reason.empty()) json["reason"] = r.reason;
  if (!r.work.launches.empty())
    json["work"] = {{"flops", r.work.flops()},
                    {"bytes", r.work.bytes()},
                    {"loaded_bytes", l2_bytes(r.work)},
                    {"launches", r.work.launch_count()}};
  if (r.outcome != RungResult::Outcome::left_out)
    json["error"] = {{"frobenius", r.error.frobenius}, {"max", r.error.max}};
  if (!r.timed()) return json;
  json["ms"] = spread_json(r.seconds);
  json["gflops_per_s"] = run.cost.flops() / r.seconds.median / 1e9;
  json["gb_per_s"] = run.cost.bytes() / r.seconds.median / 1e9;
  json["percent_of_roofline"] = run.percent_of_roofline(r);
  if (r.over_before > 0) json["times_before"] = r.over_before;
  json["times_first"] = r.over_first;
  if (r.launch)
    json["launch"] = {{"kernel", r.launch->kernel},
                      {"registers", r.launch->registers},
                      {"shared_bytes", r.launch->shared_bytes},
                      {"occupancy_percent", r.launch->occupancy_percent},
                      {"limiter", r.launch->limiter}};
  if (r.counted) json["counted"] = work_json(r.work, *r.counted);
  return json;
}

}  // namespace

Sheet ladder_sheet(const LadderRun& run, DeviceKind device) {
  using enum Column::Format;
  const bool gpu = device != DeviceKind::cpu;
  const bool published = std::ranges::any_of(run.published, [&](const PublishedRung& p) {
    return std::ranges::any_of(run.rungs,
                               [&](const RungResult& r) { return r.rung.name == p.rung && r.timed(); });
  });
  const auto shown = [](bool on, const char* title) { return std::string(on ? title : ""); };
  const double scale = gpu ? 1e12 : 1e9;
  std::vector<Column> columns = {
      {.key = "rung", .title = "rung"},
      {.key = "problem", .title = ""},
      {.key = "idea", .title = "idea", .left = true, .priority = 9},
      {.key = "ms", .title = "ms", .unit = "ms"},
      {.key = "ms_p10_to_p90", .title = "10 to 90 %", .priority = 7},
      {.key = "samples", .title = "samples", .priority = 8},
      {.key = gpu ? "tflops_per_s" : "gflops_per_s",
       .title = gpu ? "TFLOP/s" : "GFLOP/s",
       .unit = gpu ? "TFLOP/s" : "GFLOP/s",
       .format = hundredths},
      {.key = "gb_per_s", .title = "GB/s", .unit = "GB/s", .format = tenths, .priority = 5},
      {.key = "percent_of_roofline", .title = "% of roofline", .unit = "%", .format = tenths, .priority = 1},
      {.key = "times_before", .title = "x before", .format = hundredths},
      {.key = "times_first", .title = "x first", .format = hundredths},
      {.key = "error", .title = "error", .format = scientific, .priority = 2},
      {.key = "max_error", .title = "max error", .format = scientific, .priority = 8},
      {.key = "registers", .title = shown(gpu, "registers"), .priority = 4},
      {.key = "shared_bytes", .title = shown(gpu, "shared"), .unit = "B", .format = bytes, .priority = 4},
      {.key = "occupancy_percent",
       .title = shown(gpu, "occupancy %"),
       .unit = "%",
       .format = tenths,
       .priority = 3},
      {.key = "limiter", .title = shown(gpu, "limited by"), .left = true, .priority = 3},
      {.key = "published_ms", .title = shown(published, "published ms"), .left = true, .priority = 6}};
  const bool counted = any_counted(run);
  if (counted) std::ranges::move(work_columns(), std::back_inserter(columns));
  Sheet sheet("ladder", std::move(columns));
  for (const RungResult& r : run.rungs) {
    if (r.outcome == RungResult::Outcome::left_out) continue;
    const double s = r.seconds.median;
    const auto of_time = [&](double value) { return r.timed() ? Cell(value) : Cell(); };
    std::vector<Cell> cells = {r.rung.name,
                               run.problem.name,
                               r.rung.title,
                               r.timed() ? Cell(s * 1e3) : Cell(std::string("WRONG")),
                               text_or_empty(spread_cell(r.seconds)),
                               r.timed() ? Cell(r.seconds.samples) : Cell(),
                               of_time(run.cost.flops() / s / scale),
                               of_time(run.cost.bytes() / s / 1e9),
                               of_time(run.percent_of_roofline(r)),
                               known(r.over_before),
                               known(r.over_first),
                               r.error.frobenius,
                               r.error.max,
                               r.launch ? Cell(std::int64_t{r.launch->registers}) : Cell(),
                               r.launch ? Cell(r.launch->shared_bytes) : Cell(),
                               r.launch ? known(r.launch->occupancy_percent) : Cell(),
                               r.launch ? text_or_empty(r.launch->limiter) : Cell(),
                               text_or_empty(published_cell(run, r.rung.name))};
    if (counted) std::ranges::move(work_cells(r.work, r.counted), std::back_inserter(cells));
    sheet.row(std::move(cells));
  }
  return sheet;
}

Sheet ladder_counters_sheet(const LadderRun& run) {
  CountedRows rows;
  for (const RungResult& r : run.rungs)
    if (r.counted)
      rows.push_back({r.rung.name, {.counters = r.counted->counters, .seconds = r.seconds.median}});
  return counters_sheet("ladder_counters", {.key = "rung", .title = "rung"}, rows, RowsAddUp::no);
}

std::string ladder_title(const LadderRun& run) {
  std::string text = fmt::format("{}: {}, {} at least", run.problem.name, si(run.cost.flops(), "FLOP"),
                                 human_bytes(run.cost.bytes()));
  if (run.floor_s > 0) text += fmt::format("; floor {} ({})", human_seconds(run.floor_s), run.bound);
  return text + "\n";
}

std::string ladder_notes(const LadderRun& run) {
  std::string text =
      "\nms: median of one run on the device, warm. x before: times as fast as the rung it builds on; x "
      "first: as the "
      "first.\nError: relative to fp64, Frobenius norm. GB/s: inputs and outputs once.\n";
  std::vector<Sampled> medians;
  std::map<std::string, std::vector<std::string>> left_out;
  for (const RungResult& r : run.rungs) {
    medians.push_back(r.seconds);
    if (r.outcome == RungResult::Outcome::left_out) left_out[r.reason].push_back(r.rung.name);
    if (r.outcome == RungResult::Outcome::wrong)
      text += fmt::format("WRONG, not timed: {}: {}\n", r.rung.name, r.reason);
  }
  text += sampling_note(medians);
  for (const auto& [reason, rungs] : left_out)
    text += paragraph(fmt::format("Not run: {}: {}", fmt::join(rungs, ", "), reason), {});
  if (!run.why_no_launches.empty())
    text += fmt::format("Registers and occupancy are not known: {}\n", run.why_no_launches);
  if (any_counted(run)) text += paragraph(work_note(), {});
  for (const std::string& note : run.counter_notes) text += paragraph("Counters: " + note, {});
  return text;
}

std::string ladder_explanation(const LadderRun& run) {
  std::string text = "\n";
  for (const RungResult& r : run.rungs) {
    if (r.outcome == RungResult::Outcome::left_out) continue;
    text += fmt::format("{}: {}\n", r.rung.name, r.rung.title);
    std::string prose = fmt::format("{} {} {}", r.rung.changed, r.rung.why, work_sentence(r));
    prose += r.timed() ? " " + outcome_sentence(run, r) : " Its result is wrong.";
    text += paragraph(prose, {}) + "\n";
  }
  return text;
}

BarChart ladder_chart(const LadderRun& run, std::string note) {
  BarChart chart{.title = run.problem.name,
                 .series = {{.name = "measured"}},
                 .axis = {.label = "time of one run", .unit = "ms", .scale = AxisScale::log},
                 .note = std::move(note)};
  BarSeries& bars = chart.series.front();
  for (const RungResult& r : run.rungs) {
    if (!r.timed()) continue;
    chart.categories.push_back(r.rung.name);
    bars.values.push_back(r.seconds.median * 1e3);
    bars.low.push_back(r.seconds.p10 * 1e3);
    bars.high.push_back(r.seconds.p90 * 1e3);
  }
  if (run.floor_s > 0 && !bars.values.empty())
    chart.reference = {.value = run.floor_s * 1e3, .label = "floor"};
  return chart;
}

Json ladder_json(const LadderRun& run) {
  Json rungs = Json::array(), published = Json::array();
  for (const RungResult& r : run.rungs) rungs.push_back(rung_json(run, r));
  for (const PublishedRung& p : run.published)
    published.push_back({{"rung", p.rung},
                         {"low_ms", p.low_s * 1e3},
                         {"high_ms", p.high_s * 1e3},
                         {"source", std::string(1, p.source)}});
  Json json = {{"problem", run.problem.name},
               {"text", run.text},
               {"flops", run.cost.flops()},
               {"bytes", run.cost.bytes()},
               {"floor_ms", run.floor_s * 1e3},
               {"bound", run.bound},
               {"rungs", rungs},
               {"published", published}};
  if (!run.why_no_launches.empty()) json["why_no_launches"] = run.why_no_launches;
  if (!run.counter_notes.empty()) json["counter_notes"] = run.counter_notes;
  return json;
}

}  // namespace headroom
