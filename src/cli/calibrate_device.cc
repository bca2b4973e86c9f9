#include "cli/calibrate_device.h"

#include <cmath>

#include "base/file.h"
#include "base/json.h"
#include "base/sheet.h"
#include "base/text.h"
#include "bench/calibrate_steps.h"
#include "cli/progress.h"

namespace headroom::cli {
namespace {

Column share_column(const char* key, const char* title) {
  return {.key = key, .title = title, .unit = "%", .format = Column::Format::tenths};
}

Sheet kinds_sheet(const StepCalibration& c) {
  Sheet sheet("kinds", {{.key = "kind", .title = "kernels and operator", .left = true},
                        {.key = "rows", .title = "timings", .format = Column::Format::commas},
                        {.key = "efficiency", .title = "share of peak"},
                        {.key = "memory_share", .title = "share of memory rate"},
                        {.key = "cache_share", .title = "of cache rate"},
                        {.key = "start_us", .title = "start us", .unit = "us"},
                        share_column("mean_percent", "mean %"),
                        share_column("median_percent", "median %"),
                        share_column("p90_percent", "p90 %"),
                        share_column("coverage_percent", "inside %")});
  const auto add = [&](const std::string& name, const StepCalibration::Kind& kind) {
    sheet.row({name, static_cast<std::int64_t>(kind.rows), kind.constants.efficiency,
               kind.constants.memory_share, kind.constants.cache_share, kind.constants.start_s * 1e6,
               kind.errors.mean, kind.errors.median, kind.errors.p90, kind.errors.coverage});
  };
  for (const auto& [name, kind] : c.kinds)
    if (is_step_kind(name)) add(name, kind);
  add("all steps", c.kinds.at(""));
  return sheet;
}

std::string summary(const StepCalibration& c) {
  return fmt::format(
      "Steps not seen by the fit: {:.1f} % off in the median, {:.1f} % in the mean; {:.0f} % inside the "
      "interval.\n"
      "Whole runs not seen:       {:.1f} % off in the median, {:.1f} % in the mean; {:.0f} % inside the "
      "interval, {:.0f} % wide in the median.\n",
      c.step_errors.median, c.step_errors.mean, c.step_errors.coverage, c.run_errors.median,
      c.run_errors.mean, c.run_errors.coverage, c.run_errors.median_width);
}

std::vector<EngineOptions> engines_for(Common common, const std::string& precisions, DeviceKind device) {
  const std::string usual = device == DeviceKind::cpu ? "fp32" : "fp32,bf16,tf32";
  std::vector<EngineOptions> engines;
  for (const std::string& name : split(precisions.empty() ? usual : precisions, ',')) {
    common.precision = name;
    engines.push_back(common.engine_options());
    // Winners of random problems are of no use to others.
    engines.back().tuning = nullptr, engines.back().on_tuning = {};
  }
  return engines;
}

void print_calibrated(const StepCalibration& c, const std::string& file, const Common& common) {
  if (common.json) {
    Json json = to_json(c);
    json.erase("rows"), json.erase("runs");
    json["timings"] = c.rows.size(), json["file"] = file;
    return print_json(json);
  }
  print(fmt::format("{} ({}), {} timings of {} runs of random networks:\n\n", c.machine, c.title,
                    c.rows.size(), c.runs.size()));
  print(kinds_sheet(c).text(common.tables.view()));
  const bool used = file == calibration_file(c.machine).string();
  print("\n" + summary(c) +
        fmt::format("saved to {}{}\n", file, used ? "; `headroom predict` uses it from now on" : ""));
}

}  // namespace

void run_calibrate_device(Common common, const CalibrateDevice& r) {
  if (!(r.seconds >= 1 && r.seconds <= 3600))
    reject(Hint{"60 seconds are usual"}, "--seconds is {}; it must be between 1 and 3600", r.seconds);
  if (!r.constants.empty()) require_writable(r.constants);
  require_files(r.files, {{"--output", r.constants}});
  const auto device = common.open();
  const Machine machine = common.machine(*device);
  const CalibrateOptions options{engines_for(common, r.precisions, device->kind()), r.seconds,
                                 device->kind() == DeviceKind::cpu ? 3u : 6u};
  const StepCalibration c = [&] {
    Progress progress("calibrate");
    return calibrate_steps(*device, machine, options, [&](double share, const std::string& probe) {
      progress.update(std::llround(100 * share), 100, probe);
    });
  }();
  save_calibration(c);
  if (!r.constants.empty()) write_file(r.constants, shared_constants(c, machine).dump(1) + "\n");
  print_calibrated(c, calibration_file(c.machine).string(), common);
  write_tables(r.files, "calibrate", {kinds_sheet(c)}, &machine);
}

void run_refit(const std::string& file, const Common& common) {
  const StepCalibration before = step_calibration_from_json(parse_object(read_file(file), file), file);
  StepCalibration c = fit_steps(before.rows, before.runs);
  c.machine = before.machine, c.title = before.title, c.cores = before.cores, c.libraries = before.libraries;
  write_file(file, to_json(c).dump(1) + "\n");
  print_calibrated(c, file, common);
}

}  // namespace headroom::cli
