#include <algorithm>
#include <cmath>

#include "page/html.h"
#include "page/section.h"
#include "report/series.h"

namespace headroom {
namespace {

// All charts of the section have this axis, so that they can be read one below the other.
ChartAxis time_axis(const RunRecord& r) {
  double end = 0;
  if (r.samples && !r.samples->seconds.empty()) end = r.samples->seconds.back();
  if (r.training)
    for (const auto* list : {&r.training->loss_s, &r.training->epoch_end_s})
      if (!list->empty()) end = std::max(end, list->back());
  return {.label = "time", .unit = "s", .shows = {0, end}};
}

// Where the epochs end on that axis. Records without these times have the epochs' numbers instead.
std::vector<double> places_of_epochs(const RecordedTraining& training) {
  std::vector<double> places;
  const std::size_t count = training.epochs.size(), known = training.epoch_end_s.size();
  for (std::size_t i = 0; i < count; ++i)
    places.push_back(known == 0          ? double(training.epochs[i].epoch)
                     : i + known < count ? NAN  // before the run was resumed
                                         : training.epoch_end_s[i + known - count]);
  return places;
}

LineSeries of_epochs(const RecordedTraining& training, std::string name, double EpochResult::*value) {
  LineSeries series{.name = std::move(name)};
  const std::vector<double> places = places_of_epochs(training);
  for (std::size_t i = 0; i < training.epochs.size(); ++i)
    if (std::isfinite(training.epochs[i].*value))
      series.points.push_back({places[i], training.epochs[i].*value});
  return series;
}

std::string loss_chart(const RecordedTraining& training, const ChartAxis& x) {
  LineChart chart{.title = "Loss", .x = x, .y = {.label = "loss"}};
  LineSeries steps{.name = "training, by step"};
  for (std::size_t i = 0; i < training.losses.size(); ++i)
    if (std::isfinite(training.losses[i])) steps.points.push_back({training.loss_s[i], training.losses[i]});
  if (!steps.points.empty()) chart.series.push_back(std::move(steps));
  if (!training.epochs.empty()) {
    chart.series.push_back(of_epochs(training, "training, by epoch", &EpochResult::loss));
    chart.series.push_back(of_epochs(training, "test", &EpochResult::test_loss));
  }
  chart.markers = training.losses.size() < 60;
  return figure(chart);
}

std::string accuracy_chart(const RecordedTraining& training, const ChartAxis& x) {
  LineChart chart{.title = "Accuracy", .x = x, .y = {.label = "accuracy"}};
  chart.series = {of_epochs(training, "training", &EpochResult::train_accuracy),
                  of_epochs(training, "test", &EpochResult::test_accuracy)};
  return figure(chart);
}

// Series of the machine with this unit, on the same axis.
std::string machine_chart(const Samples& samples, const std::string& title, const std::string& unit,
                          const ChartAxis& x) {
  LineChart chart{.title = title, .x = x, .y = {.label = title, .unit = unit}, .markers = false};
  for (const Series& series : samples.series) {
    if (series.info.unit != unit || series.info.counter || series.info.per_core) continue;
    LineSeries line{.name = series.info.name};
    for (std::size_t i = 0; i < samples.seconds.size(); ++i)
      line.points.push_back({samples.seconds[i], series.values[i]});
    chart.series.push_back(std::move(line));
  }
  return chart.series.empty() ? "" : figure(chart);
}

}  // namespace

PageSection curves_section(const PageRun& page) {
  const RunRecord& r = page.run.record;
  PageSection section{"curves", "Training"};
  if (!r.training || (r.training->epochs.empty() && r.training->losses.empty())) return section;
  ChartAxis x = time_axis(r);
  if (r.training->epoch_end_s.empty() && r.training->losses.empty()) x = {.label = "epoch"};
  section.body = loss_chart(*r.training, x);
  if (r.training->classifier && !r.training->epochs.empty()) section.body += accuracy_chart(*r.training, x);
  if (r.samples && !r.training->losses.empty())
    section.body += machine_chart(*r.samples, "Power", "W", x) + machine_chart(*r.samples, "Memory", "MB", x);
  return section;
}

PageSection utilisation_section(const PageRun& page) {
  const RunRecord& r = page.run.record;
  PageSection section{"utilisation", "Utilisation"};
  if (!r.samples || r.samples->seconds.size() < 2) return section;
  const ChartAxis x{.label = "time", .unit = "s", .shows = {0, r.samples->seconds.back()}};
  section.body = machine_chart(*r.samples, "Busy", "%", x);
  if (!r.training)
    section.body += machine_chart(*r.samples, "Power", "W", x) + machine_chart(*r.samples, "Memory", "MB", x);
  section.body += html_table(series_sheet(*r.samples), {.caption = "The machine during the run"});
  for (const std::string& what : r.samples->absent)
    section.body += "<p class=\"note\">" + html_text(what) + "</p>";
  return section;
}

}  // namespace headroom
