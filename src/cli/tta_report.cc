#include "cli/tta_report.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "report/chart.h"

namespace headroom::cli {
namespace {

Cell cell_of(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

TtaRun judged(ExperimentRun&& run) {
  TtaRun result{.row = run.row, .seed = run.seed, .use = run.outcome.use, .problem = run.outcome.problem};
  const Json& json = run.outcome.json;
  if (!run.outcome.done()) return result;
  result.curve = run_curve(json);
  if (json.contains("wild")) result.wild = json["wild"].at("accuracy").get<double>();
  return result;
}

// Points into the run's own curve, so only once the run has its place.
void find_target(TtaRun& run, const TtaOptions& options) {
  run.reached = run.curve.first_at(options.target);
  if (run.reached == nullptr) return;
  run.seconds = run.reached->train_seconds + (options.count_eval ? run.reached->eval_seconds : 0);
}

}  // namespace

TtaReport::TtaReport(const Experiment& experiment, const TtaOptions& options, std::vector<ExperimentRun> runs)
    : experiment_(experiment), options_(options) {
  for (ExperimentRun& run : runs) runs_.push_back(judged(std::move(run)));
  std::ranges::stable_sort(runs_, {}, &TtaRun::row);
  for (TtaRun& run : runs_) find_target(run, options_);
}

std::int64_t TtaReport::reached() const {
  return std::ranges::count_if(runs_, [](const TtaRun& run) { return run.reached != nullptr; });
}

double TtaReport::best_accuracy() const {
  double best = 0;
  for (const TtaRun& run : runs_)
    for (const TestPoint& test : run.curve.tests) best = std::max(best, test.accuracy);
  return best;
}

bool TtaReport::has_gpu() const {
  return std::ranges::any_of(runs_, [](const TtaRun& run) { return run.use.gpu_percent.has_value(); });
}

bool TtaReport::has_problem() const {
  return std::ranges::any_of(runs_, [](const TtaRun& run) { return !run.problem.empty(); });
}

bool TtaReport::has_wild() const {
  return std::ranges::any_of(runs_, [](const TtaRun& run) { return run.wild.has_value(); });
}

std::string TtaReport::head() const {
  const RunSetup& setup = experiment_.setup();
  return fmt::format("{} on {} to an accuracy of {}, {}{}, seeds from {}:\n\n", setup.net.name, setup.data,
                     options_.target, counted(std::ssize(runs_) / std::ssize(experiment_.rows()), "run"),
                     compares() ? " of each setting" : "", runs_.front().seed);
}

Sheet TtaReport::runs_sheet() const {
  using enum Column::Format;
  Sheet sheet(
      "runs",
      {{.key = "setting", .title = compares() ? "setting" : ""},
       {.key = "seed", .title = "seed"},
       {.key = "reached", .title = "reached", .left = true},
       {.key = "epochs", .title = "epochs", .format = hundredths},
       {.key = "steps", .title = "steps", .format = commas, .priority = 2},
       {.key = "train_s", .title = "training s", .unit = "s", .format = thousandths},
       {.key = "eval_s", .title = "tests s", .unit = "s", .format = thousandths, .priority = 1},
       {.key = "accuracy", .title = "accuracy", .format = ten_thousandths},
       {.key = "wild", .title = has_wild() ? "wild" : "", .format = ten_thousandths},
       {.key = "cpu_percent", .title = "CPU % of a core", .unit = "%", .format = tenths, .priority = 3},
       {.key = "gpu_percent",
        .title = has_gpu() ? "GPU %" : "",
        .unit = "%",
        .format = tenths,
        .priority = 3},
       {.key = "gpu_memory_percent",
        .title = has_gpu() ? "GPU memory %" : "",
        .unit = "%",
        .format = tenths,
        .priority = 4},
       {.key = "problem",
        .title = has_problem() ? "problem" : "",
        .left = true,
        .wrap = true,
        .priority = 1}});
  for (const TtaRun& run : runs_) {
    const bool tested = !run.curve.tests.empty();
    const TestPoint* at = run.reached != nullptr ? run.reached : tested ? &run.curve.tests.back() : nullptr;
    sheet.row({experiment_.label(run.row), static_cast<std::int64_t>(run.seed),
               std::string(run.reached != nullptr ? "yes" : "no"),
               at != nullptr ? Cell(run.curve.epochs_at(*at)) : Cell(),
               at != nullptr ? Cell(at->step) : Cell(), at != nullptr ? Cell(at->train_seconds) : Cell(),
               at != nullptr ? Cell(at->eval_seconds) : Cell(), tested ? Cell(run.accuracy()) : Cell(),
               cell_of(run.wild), cell_of(run.use.cpu_percent), cell_of(run.use.gpu_percent),
               cell_of(run.use.gpu_memory_percent), run.problem.empty() ? Cell() : Cell(run.problem)});
  }
  return sheet;
}

std::vector<double> TtaReport::seconds_of(std::size_t row) const {
  std::vector<double> seconds;
  for (const TtaRun& run : runs_)
    if (run.row == row && run.reached != nullptr) seconds.push_back(run.seconds);
  return seconds;
}

std::vector<TtaReport::Quantity> TtaReport::quantities() const {
  std::vector<Quantity> list;
  for (std::size_t row = 0; row < experiment_.rows().size(); ++row) {
    std::vector<double> epochs, accuracy, wild;
    for (const TtaRun& run : runs_) {
      if (run.row != row || run.curve.tests.empty()) continue;
      accuracy.push_back(run.accuracy());
      if (run.wild) wild.push_back(*run.wild);
      if (run.reached != nullptr) epochs.push_back(run.curve.epochs_at(*run.reached));
    }
    list.push_back(
        {"seconds", fmt::format("seconds to {}", options_.target), row, statistics_of(seconds_of(row))});
    list.push_back({"epochs", fmt::format("epochs to {}", options_.target), row, statistics_of(epochs)});
    list.push_back({"accuracy", "final accuracy", row, statistics_of(accuracy)});
    if (has_wild()) list.push_back({"wild", "wild accuracy", row, statistics_of(wild)});
  }
  return list;
}

Sheet TtaReport::statistics_sheet() const {
  using enum Column::Format;
  const bool refers = options_.reference.has_value();
  Sheet sheet(
      "statistics",
      {{.key = "quantity", .title = "quantity"},
       {.key = "setting", .title = compares() ? "setting" : "", .left = true},
       {.key = "runs", .title = "runs"},
       {.key = "mean", .title = "mean", .format = six_digits},
       {.key = "mean_low", .title = "95 % from", .format = six_digits, .priority = 2},
       {.key = "mean_high", .title = "to", .format = six_digits, .priority = 2},
       {.key = "deviation", .title = "deviation", .format = six_digits},
       {.key = "variation_percent", .title = "variation %", .unit = "%", .format = hundredths},
       {.key = "variation_low_percent",
        .title = "95 % from %",
        .unit = "%",
        .format = hundredths,
        .priority = 1},
       {.key = "variation_high_percent", .title = "to %", .unit = "%", .format = hundredths, .priority = 1},
       {.key = "reference_percent",
        .title = refers ? "reference %" : "",
        .unit = "%",
        .format = hundredths}});
  for (const Quantity& q : quantities()) {
    if (q.of.samples == 0) {
      sheet.row({q.title, experiment_.label(q.row), std::int64_t{0}, {}, {}, {}, {}, {}, {}, {}, {}});
      continue;
    }
    const auto& [samples, mean, deviation, variation, mean_at, variation_at] = q.of;
    const auto percent = [](double share) { return Cell(100 * share); };
    sheet.row({q.title, experiment_.label(q.row), samples, mean, mean_at ? Cell(mean_at->low) : Cell(),
               mean_at ? Cell(mean_at->high) : Cell(), samples > 1 ? Cell(deviation) : Cell(),
               variation ? percent(*variation) : Cell(), variation_at ? percent(variation_at->low) : Cell(),
               variation_at ? percent(variation_at->high) : Cell(),
               refers && q.key == "seconds" ? percent(*options_.reference) : Cell()});
  }
  return sheet;
}

// Every setting beside the first.
Sheet TtaReport::comparison_sheet() const {
  using enum Column::Format;
  Sheet sheet("comparison",
              {{.key = "setting", .title = "setting"},
               {.key = "mean_s", .title = "mean s", .unit = "s", .format = thousandths},
               {.key = "times_first", .title = "x first", .format = hundredths},
               {.key = "difference_s", .title = "difference s", .unit = "s", .format = thousandths},
               {.key = "low_s", .title = "95 % from", .unit = "s", .format = thousandths},
               {.key = "high_s", .title = "to", .unit = "s", .format = thousandths},
               {.key = "verdict", .title = "verdict", .left = true}});
  const std::vector<double> first = seconds_of(0);
  const double base = statistics_of(first).mean;
  for (std::size_t row = 0; row < experiment_.rows().size(); ++row) {
    const std::vector<double> seconds = seconds_of(row);
    const double mean = statistics_of(seconds).mean;
    const auto d = row > 0 ? difference_of_means(first, seconds) : std::nullopt;
    std::string verdict = row == 0 ? "compared with" : "too few runs";
    if (d) verdict = d->interval.high < 0 ? "faster" : d->interval.low > 0 ? "slower" : "not distinguishable";
    sheet.row({experiment_.label(row), known(mean), base > 0 && mean > 0 ? Cell(mean / base) : Cell(),
               d ? Cell(d->difference) : Cell(), d ? Cell(d->interval.low) : Cell(),
               d ? Cell(d->interval.high) : Cell(), verdict});
  }
  return sheet;
}

std::string TtaReport::after_runs(const TableView& view) const {
  std::string text;
  const std::int64_t all = std::ssize(runs_), there = reached();
  if (there < all)
    text += paragraph(fmt::format("{} of {} did not reach {}. Seconds and epochs below are of the others.",
                                  all - there, counted(all, "run"), options_.target),
                      view);
  text +=
      paragraph(options_.count_eval
                    ? "Seconds to the target count training and tests, not start-up and reading of data."
                    : "Seconds to the target count training alone, neither tests nor start-up. --count-eval "
                      "adds the tests.",
                view);
  return "\n" + text + "\n";
}

std::string TtaReport::chart() const {
  LineChart chart{.title = fmt::format("{} on {}: accuracy while it trains", experiment_.setup().net.name,
                                       experiment_.setup().data),
                  .x = {"training time", "s"},
                  .y = {"test accuracy"},
                  .reference = ReferenceLine{options_.target, "target"}};
  for (const TtaRun& run : runs_) {
    LineSeries line{.name = experiment_.run_label(run.row, run.seed)};
    for (const TestPoint& test : run.curve.tests) line.points.push_back({test.train_seconds, test.accuracy});
    chart.series.push_back(std::move(line));
  }
  return svg(chart);
}

Json TtaReport::json() const {
  Json runs = runs_sheet().objects();
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    Json curve = Json::array();
    for (const TestPoint& t : runs_[i].curve.tests)
      curve.push_back({{"step", t.step},
                       {"train_s", t.train_seconds},
                       {"eval_s", t.eval_seconds},
                       {"accuracy", t.accuracy},
                       {"loss", t.loss}});
    runs[i]["reached"] = runs_[i].reached != nullptr;
    runs[i]["curve"] = curve;
  }
  Json json = {{"model", experiment_.setup().net.name},
               {"data", experiment_.setup().data},
               {"target", options_.target},
               {"reached", reached()},
               {"seconds_include_tests", options_.count_eval},
               {"runs", runs},
               {"statistics", statistics_sheet().objects()}};
  if (compares()) json["comparison"] = comparison_sheet().objects();
  if (options_.reference) json["reference_variation"] = *options_.reference;
  return json;
}

BenchOutput TtaReport::output(const Common& common) const {
  const TableView view = common.tables.view();
  BenchOutput out{.verb = "tta", .tables = {}, .json = json(), .charts = {{"", chart()}}};
  out.tables.push_back({runs_sheet(), head(), after_runs(view)});
  out.tables.push_back(
      {statistics_sheet(), "",
       "\n" + paragraph("Variation is the deviation over the mean. Intervals: of a mean by Student's t, of a "
                        "variation by McKay's approximation in Vangel's form.",
                        view)});
  if (compares())
    out.tables.push_back(
        {comparison_sheet(), "\n",
         "\n" + paragraph("Differences of means and their intervals by Welch's method.", view)});
  return out;
}

}  // namespace headroom::cli
