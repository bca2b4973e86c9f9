#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "page/html.h"
#include "page/section.h"

namespace headroom {
namespace {

struct LayerWork {
  double flops = 0, bytes = 0;
};

// The least work of every layer, from the steps of the plan.
std::map<std::string, LayerWork> work_by_layer(const RecordedPlan& plan) {
  std::map<std::string, LayerWork> work;
  for (const RecordedStep& step : plan.steps)
    for (const Charge& charge : step.charges) {
      work[charge.layer].flops += charge.share * step.flops;
      work[charge.layer].bytes += charge.share * step.bytes;
    }
  return work;
}

void add_points(ScatterChart& chart, const RunRecord& r, std::size_t series,
                double (*seconds_of)(const LayerReading&)) {
  const std::map<std::string, LayerWork> work = work_by_layer(*r.plan);
  for (const LayerReading& l : r.layers) {
    const auto it = work.find(l.layer);
    const double seconds = seconds_of(l);
    if (it == work.end() || it->second.flops <= 0 || it->second.bytes <= 0 || seconds <= 0) continue;
    const auto [flops, bytes] = it->second;
    chart.points.push_back({flops / bytes, flops / seconds, seconds, series, l.layer,
                            fmt::format("{}, {}, {}", human_seconds(seconds), si(flops / seconds, "FLOP/s"),
                                        si(flops / bytes, "FLOP/byte"))});
  }
}

// The levels of memory rise until they meet the flat roof of the arithmetic.
void add_roofs(ScatterChart& chart, const Machine& machine, const std::string& precision) {
  double low = INFINITY, high = 0;
  for (const ScatterChart::Point& point : chart.points)
    low = std::min(low, point.x), high = std::max(high, point.x);
  const auto named = machine.peak_flops.find(precision);
  const auto highest =
      std::ranges::max_element(machine.peak_flops, {}, [](const auto& p) { return p.second; });
  const auto peak = named != machine.peak_flops.end() ? named : highest;
  if (peak == machine.peak_flops.end() || machine.levels.empty()) return;
  const double ridge = peak->second / std::max(1.0, machine.memory().bytes_per_s);
  low = std::min(low, ridge / 10), high = std::max(high, ridge * 10);
  for (const Machine::Level& level : machine.levels) {
    if (level.bytes_per_s <= 0) continue;
    const double meets = peak->second / level.bytes_per_s;
    if (meets <= low) continue;
    chart.lines.push_back({.name = fmt::format("{} {}", level.name, si(level.bytes_per_s, "B/s")),
                           .points = {{low, low * level.bytes_per_s}, {meets, peak->second}},
                           .dashed = &level != &machine.memory()});
  }
  chart.lines.push_back({.name = fmt::format("{} {}", peak->first, si(peak->second, "FLOP/s")),
                         .points = {{low, peak->second}, {high, peak->second}}});
}

}  // namespace

PageSection roofline_section(const PageRun& page) {
  const RunRecord& r = page.run.record;
  PageSection section{"roofline", "Roofline"};
  if (!r.machine || r.machine->levels.empty() || r.machine->peak_flops.empty()) return section;
  const bool has_layers = r.plan && !r.layers.empty();
  if (!has_layers && r.verb != "roofline") return section;
  ScatterChart chart{
      .title = (has_layers ? "Every layer under the roofs of " : "The roofs of ") + r.machine->title,
      .x = {.label = "arithmetic intensity", .unit = "FLOP/byte", .scale = AxisScale::log},
      .y = {.label = "speed", .unit = "FLOP/s", .scale = AxisScale::log}};
  if (has_layers) {
    chart.series = {"measured", "predicted"};
    add_points(chart, r, 0, [](const LayerReading& l) { return l.measured_s(); });
    add_points(chart, r, 1, [](const LayerReading& l) { return l.predicted_s; });
    if (chart.points.empty()) return section;
    chart.note =
        "The area of a point is its time. Intensity and speed count the least work: each input read once, "
        "each "
        "output written once.";
  }
  add_roofs(chart, *r.machine, r.plan ? r.plan->precision : "fp32");
  section.body = figure(chart);
  return section;
}

}  // namespace headroom
