#include "cli/bench_predicted.h"

#include "base/text.h"

namespace headroom::cli {
namespace {

double percent_off(const PredictedRun& run, double measured_s) {
  return 100 * (run.seconds / measured_s - 1);
}

}  // namespace

std::vector<Column> predicted_columns(const std::string& of, int priority) {
  return {{.key = of + "predicted_ms", .title = "predicted ms", .unit = "ms", .priority = priority},
          {.key = of + "low_ms", .title = "low", .unit = "ms", .priority = priority + 2},
          {.key = of + "high_ms", .title = "high", .unit = "ms", .priority = priority + 2},
          {.key = of + "off_percent",
           .title = "off %",
           .unit = "%",
           .format = Column::Format::tenths,
           .priority = priority}};
}

std::vector<Cell> predicted_cells(const PredictedRun& run, double measured_s) {
  if (run.seconds <= 0 || measured_s <= 0) return std::vector<Cell>(4);
  return {run.seconds * 1e3, run.low * 1e3, run.high * 1e3, percent_off(run, measured_s)};
}

void add_predicted(Json& json, const std::string& of, const PredictedRun& run, double measured_s) {
  if (run.seconds <= 0 || measured_s <= 0) return;
  json[of + "predicted_ms"] = run.seconds * 1e3;
  json[of + "low_ms"] = run.low * 1e3, json[of + "high_ms"] = run.high * 1e3;
  json[of + "off_percent"] = percent_off(run, measured_s);
  json["basis"] = name_of(run.basis);
}

std::string predicted_note(TimeModel::Basis basis, const std::string& device) {
  if (basis == TimeModel::Basis::calibrated)
    return "Predicted: by the calibration of this machine; nine of ten should lie between low and high.\n";
  return fmt::format("Predicted: by {}; `headroom calibrate --device {}` fits them to this machine.\n",
                     basis == TimeModel::Basis::shared ? "constants of another machine" : "assumed constants",
                     device);
}

}  // namespace headroom::cli
