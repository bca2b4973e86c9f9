#include <algorithm>

#include "base/text.h"
#include "page/html.h"
#include "page/section.h"

namespace headroom {
namespace {

// The parts of a step as blocks, one row per rank.
BlockChart step_chart(const Trace& trace) {
  const Sheet sheet = step_sheet(trace);
  BlockChart chart{.title = "Where the time of a step went", .axis = {.label = "time", .unit = "ms"}};
  for (const Column& column : sheet.columns()) {
    if (column.unit != "ms") continue;
    const std::size_t row = chart.rows.size();
    chart.rows.push_back(column.title == "ms" ? "step" : column.title.substr(0, column.title.size() - 3));
    double at = 0;
    for (std::size_t r = 0; r < sheet.rows(); ++r) {
      if (sheet.is_total(r)) continue;
      const std::string& part = std::get<std::string>(sheet.at(r, "part"));
      const double ms = std::get<double>(sheet.at(r, column.key));
      if (ms <= 0) continue;
      auto colour = std::ranges::find(chart.colours, part);
      if (colour == chart.colours.end()) colour = chart.colours.insert(colour, part);
      chart.blocks.push_back({row, at, at + ms, static_cast<std::size_t>(colour - chart.colours.begin()),
                              part, fmt::format("{:.4g} ms", ms)});
      at += ms;
    }
  }
  return chart;
}

std::vector<const LayerReading*> longest_layers(const std::vector<LayerReading>& layers, std::size_t count) {
  std::vector<const LayerReading*> list;
  for (const LayerReading& l : layers)
    if (l.measured_s() > 0 || l.predicted_s > 0) list.push_back(&l);
  const auto time = [](const LayerReading* l) { return std::max(l->measured_s(), l->predicted_s); };
  std::ranges::stable_sort(list, std::greater<>{}, time);
  if (list.size() > count) list.resize(count);
  return list;
}

}  // namespace

PageSection step_section(const PageRun& page) {
  PageSection section{"step", "The step"};
  if (page.run.trace.windows.empty()) return section;
  section.body = figure(step_chart(page.run.trace)) +
                 html_table(step_sheet(page.run.trace), {.caption = "Parts of a step"});
  return section;
}

PageSection layers_section(const PageRun& page) {
  const RunRecord& r = page.run.record;
  PageSection section{"layers", "Layers"};
  if (r.layers.empty()) return section;
  const bool traced = r.verb == "profile" && r.plan && !page.run.trace.windows.empty();
  const Sheet sheet = traced ? profiled_layer_sheet(page.run)
                             : layer_sheet(r.layers, r.prediction && r.prediction->has_times);
  section.body =
      html_table(sheet, {.caption = "Both readings of every layer",
                         .bars = {"total_ms", "forward_ms", "backward_ms", "backward_and_update_ms",
                                  "percent_of_roofline", "headroom_ms", "floor_ms"},
                         .searchable = true});
  return section;
}

PageSection prediction_section(const PageRun& page) {
  const RunRecord& r = page.run.record;
  PageSection section{"prediction", "Prediction and measurement"};
  if (!r.prediction || !r.prediction->has_times) return section;
  constexpr std::size_t kShown = 30;
  const std::vector<const LayerReading*> layers = longest_layers(r.layers, kShown);
  if (layers.empty()) return section;
  BarChart chart{.title = layers.size() < r.layers.size() ? "The longest layers" : "Every layer",
                 .axis = {.label = "time of a step", .unit = "ms"}};
  BarSeries measured{.name = "measured"}, predicted{.name = "predicted, with its 90 % interval"},
      floor{.name = "floor"};
  bool has_measured = false;
  for (const LayerReading* l : layers) {
    chart.categories.push_back(l->layer);
    measured.values.push_back(l->measured_s() * 1e3);
    has_measured |= l->measured_s() > 0;
    predicted.values.push_back(l->predicted_s * 1e3);
    predicted.low.push_back(l->low_s * 1e3), predicted.high.push_back(l->high_s * 1e3);
    floor.values.push_back(l->floor_s * 1e3);
  }
  if (has_measured) chart.series.push_back(std::move(measured));
  chart.series.push_back(std::move(predicted));
  chart.series.push_back(std::move(floor));
  section.body =
      figure(chart) + fmt::format("<p class=\"note\">Predicted for {} by the {} constants ({}).</p>",
                                  html_text(r.prediction->machine), html_text(r.prediction->model),
                                  html_text(name_of(r.prediction->basis)));
  return section;
}

}  // namespace headroom
