#include "cli/sweep_report.h"

#include <algorithm>

#include "base/statistics.h"
#include "base/text.h"
#include "base/units.h"

namespace headroom::cli {
namespace {

Cell cell(const std::optional<double>& value) { return value ? Cell(*value) : Cell(); }

std::optional<double> number_at(const Json& json, const char* path) {
  const Json::json_pointer pointer(path);
  if (!json.contains(pointer) || !json.at(pointer).is_number()) return {};
  return json.at(pointer).get<double>();
}

// The mean of what some runs have.
std::optional<double> mean_of(const std::vector<const SweepRun*>& runs,
                              std::optional<double> SweepRun::*field) {
  std::vector<double> values;
  for (const SweepRun* run : runs)
    if (run->*field) values.push_back(*(run->*field));
  if (values.empty()) return {};
  return statistics_of(values).mean;
}

// `gpu`: show the columns of a GPU.
std::vector<Column> measured_columns(bool compares, bool gpu) {
  using enum Column::Format;
  if (compares)
    return {{.key = "accuracy", .title = "accuracy", .format = ten_thousandths},
            {.key = "other_accuracy", .title = "of the other", .format = ten_thousandths},
            {.key = "weight_error",
             .title = "largest relative error of a weight array",
             .format = scientific_hundredths}};
  return {
      {.key = "accuracy", .title = "accuracy", .format = ten_thousandths},
      {.key = "loss", .title = "loss", .format = ten_thousandths, .priority = 3},
      {.key = "test_loss", .title = "test loss", .format = ten_thousandths, .priority = 2},
      {.key = "train_s", .title = "training s", .unit = "s", .format = thousandths},
      {.key = "images_per_s", .title = "images/s", .format = si, .priority = 5},
      {.key = "step_ms", .title = "step ms", .unit = "ms", .format = thousandths},
      {.key = "predicted_ms", .title = "predicted ms", .unit = "ms", .format = thousandths, .priority = 2},
      {.key = "memory_bytes", .title = "memory", .unit = "B", .format = bytes, .priority = 1},
      {.key = "predicted_bytes", .title = "predicted", .unit = "B", .format = bytes, .priority = 4},
      {.key = "host_bytes", .title = "host memory", .unit = "B", .format = bytes, .priority = 4},
      {.key = "cpu_percent", .title = "CPU % of a core", .unit = "%", .format = tenths, .priority = 3},
      {.key = "gpu_percent", .title = gpu ? "GPU %" : "", .unit = "%", .format = tenths, .priority = 3},
      {.key = "gpu_memory_percent",
       .title = gpu ? "GPU memory %" : "",
       .unit = "%",
       .format = tenths,
       .priority = 5}};
}

// In the order of these columns.
std::vector<Cell> measured_cells(const SweepRun& r, bool compares) {
  if (compares) return {cell(r.accuracy), cell(r.other_accuracy), cell(r.weight_error)};
  return {cell(r.accuracy),
          cell(r.loss),
          cell(r.test_loss),
          cell(r.train_s),
          cell(r.images_per_s),
          cell(r.step_ms),
          cell(r.predicted_ms),
          cell(r.memory_bytes),
          cell(r.predicted_bytes),
          cell(r.use.memory_bytes),
          cell(r.use.cpu_percent),
          cell(r.use.gpu_percent),
          cell(r.use.gpu_memory_percent)};
}

}  // namespace

SweepRun sweep_run(ExperimentRun&& run) {
  SweepRun result{.row = run.row, .seed = run.seed, .use = run.outcome.use, .problem = run.outcome.problem};
  const Json& json = run.outcome.json;
  if (!run.outcome.done()) return result;
  const auto read = [&](const char* path) { return number_at(json, path); };
  result.accuracy = read("/accuracy/test");
  if (json.contains("divergence")) {
    result.other_accuracy = read("/accuracy/other_test");
    if (!json["divergence"].empty()) {
      double worst = 0;
      for (const auto& [name, distance] : json["divergence"].back().at("arrays").items())
        worst = std::max(worst, distance.at("relative").get<double>());
      result.weight_error = worst;
    }
    return result;
  }
  result.curve = run_curve(json);
  result.loss = read("/loss"), result.test_loss = read("/test_loss");
  result.train_s = read("/train_s"), result.images_per_s = read("/images_per_s");
  result.step_ms = read("/step_ms/median"), result.predicted_ms = read("/predicted_ms");
  result.memory_bytes = read("/memory/allocated_bytes");
  result.predicted_bytes = read("/memory/predicted_bytes");
  if (json.contains("diverged")) result.problem = "diverged";
  return result;
}

SweepReport::SweepReport(const Experiment& experiment, std::vector<ExperimentRun> runs, bool several_seeds)
    : experiment_(experiment), several_seeds_(several_seeds) {
  for (ExperimentRun& run : runs) runs_.push_back(sweep_run(std::move(run)));
  std::ranges::stable_sort(runs_, {}, &SweepRun::row);
}

bool SweepReport::compares() const {
  return std::ranges::any_of(runs_, [](const SweepRun& run) { return run.other_accuracy.has_value(); });
}

bool SweepReport::has_gpu() const {
  return std::ranges::any_of(runs_, [](const SweepRun& run) { return run.use.gpu_percent.has_value(); });
}

bool SweepReport::any_done() const { return best() != nullptr; }

std::string SweepReport::first_problem() const {
  for (const SweepRun& run : runs_)
    if (!run.problem.empty()) return run.problem;
  return {};
}

const SweepRun* SweepReport::best() const {
  const SweepRun* found = nullptr;
  const auto better = [](const SweepRun& a, const SweepRun& b) {
    if (a.accuracy != b.accuracy) return a.accuracy > b.accuracy;
    return a.test_loss && (!b.test_loss || *a.test_loss < *b.test_loss);
  };
  for (const SweepRun& run : runs_)
    if ((run.accuracy || run.test_loss) && run.problem.empty() && (found == nullptr || better(run, *found)))
      found = &run;
  return found;
}

Sheet SweepReport::runs_sheet() const {
  std::vector<Column> columns;
  const std::vector<std::string> names = varied(experiment_.axes());
  for (const std::string& name : names) columns.push_back({.key = name, .title = name});
  if (several_seeds_ || names.empty()) columns.push_back({.key = "seed", .title = "seed"});
  const bool two = compares();
  std::ranges::copy(measured_columns(two, has_gpu()), std::back_inserter(columns));
  columns.push_back({.key = "best", .title = "best", .left = true});
  columns.push_back({.key = "problem",
                     .title = first_problem().empty() ? "" : "problem",
                     .left = true,
                     .wrap = true,
                     .priority = 1});
  Sheet sheet("runs", columns);
  const SweepRun* const winner = best();
  for (const SweepRun& run : runs_) {
    std::vector<Cell> cells;
    for (const std::string& name : names) cells.emplace_back(*value_of(experiment_.rows()[run.row], name));
    if (several_seeds_ || names.empty()) cells.emplace_back(static_cast<std::int64_t>(run.seed));
    std::ranges::copy(measured_cells(run, two), std::back_inserter(cells));
    cells.push_back(&run == winner ? Cell(std::string("*")) : Cell());
    cells.push_back(run.problem.empty() ? Cell() : Cell(run.problem));
    sheet.row(cells);
  }
  return sheet;
}

// The mean over all other settings and seeds, for each value of an axis.
Sheet SweepReport::effect_sheet(const std::string& axis) const {
  using enum Column::Format;
  std::vector<Column> columns = {{.key = axis, .title = axis}, {.key = "runs", .title = "runs"}};
  const bool two = compares();
  std::ranges::copy(measured_columns(two, has_gpu()), std::back_inserter(columns));
  columns.insert(
      columns.begin() + 3,
      {.key = "accuracy_deviation", .title = "deviation", .format = ten_thousandths, .priority = 1});
  Sheet sheet("effect of " + axis, columns);
  for (const GridAxis& each : experiment_.axes()) {
    if (each.name != axis) continue;
    for (const std::string& value : each.values) {
      std::vector<const SweepRun*> with;
      std::vector<double> accuracies;
      for (const SweepRun& run : runs_)
        if (*value_of(experiment_.rows()[run.row], axis) == value && run.problem.empty()) {
          with.push_back(&run);
          if (run.accuracy) accuracies.push_back(*run.accuracy);
        }
      SweepRun mean;
      for (auto field :
           {&SweepRun::accuracy, &SweepRun::loss, &SweepRun::test_loss, &SweepRun::train_s,
            &SweepRun::images_per_s, &SweepRun::step_ms, &SweepRun::predicted_ms, &SweepRun::memory_bytes,
            &SweepRun::predicted_bytes, &SweepRun::other_accuracy, &SweepRun::weight_error})
        mean.*field = mean_of(with, field);
      for (auto part : {&Utilisation::cpu_percent, &Utilisation::memory_bytes, &Utilisation::gpu_percent,
                        &Utilisation::gpu_memory_percent}) {
        std::vector<double> shares;
        for (const SweepRun* run : with)
          if (run->use.*part) shares.push_back(*(run->use.*part));
        if (!shares.empty()) mean.use.*part = statistics_of(shares).mean;
      }
      std::vector<Cell> cells = {value, std::int64_t(with.size())};
      std::ranges::copy(measured_cells(mean, two), std::back_inserter(cells));
      cells.insert(cells.begin() + 3,
                   accuracies.size() > 1 ? Cell(statistics_of(accuracies).deviation) : Cell());
      sheet.row(cells);
    }
  }
  return sheet;
}

std::string SweepReport::best_text() const {
  const SweepRun* const winner = best();
  if (winner == nullptr) return "";
  return fmt::format("best       {}: {}\n", experiment_.run_label(winner->row, winner->seed),
                     winner->accuracy ? fmt::format("accuracy {:.4f}", *winner->accuracy)
                                      : fmt::format("test loss {:.4f}", *winner->test_loss));
}

BenchOutput SweepReport::output(const Common& common) const {
  const TableView view = common.tables.view();
  const std::vector<std::string> names = varied(experiment_.axes());
  const RunSetup& setup = experiment_.setup();
  BenchOutput out{.verb = "sweep", .charts = sweep_charts(experiment_, runs_, compares())};
  const int at_once = experiment_.at_once(), threads = experiment_.threads();
  const std::string each = threads == 0 ? "one thread per core" : counted(threads, "thread") + " each";
  std::string after = best_text();
  after += paragraph(
      at_once > 1
          ? fmt::format("{} trainings at once, {}: they share caches and memory, so times are longer than "
                        "alone. --jobs 1 times them one by one.",
                        at_once, each)
          : fmt::format("One training at a time, {}.", each),
      view);
  const Sheet all = runs_sheet();
  out.tables.push_back(
      {all,
       fmt::format("{} on {}, {}:\n\n", setup.net.name, setup.data, counted(std::ssize(runs_), "training")),
       "\n" + after});
  out.json = {{"model", setup.net.name},
              {"data", setup.data},
              {"at_once", at_once},
              {"threads", threads},
              {"runs", all.objects()}};
  if (const SweepRun* const winner = best()) {
    const auto at = static_cast<std::size_t>(winner - runs_.data());
    out.json["best"] = out.json["runs"][at];
  }
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    if (!compares()) out.json["runs"][i]["epoch_losses"] = runs_[i].curve.epoch_losses;
    out.json["runs"][i].erase("best");
  }
  const bool averaged = names.size() > 1 || several_seeds_;
  for (const std::string& name : averaged ? names : std::vector<std::string>{}) {
    const Sheet effect = effect_sheet(name);
    out.tables.push_back({effect, fmt::format("\nEffect of {}, means over everything else:\n\n", name), ""});
    out.json["effects"][name] = effect.objects();
  }
  return out;
}

}  // namespace headroom::cli
