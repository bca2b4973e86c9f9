#include "timing/table_calibration.h"

#include <algorithm>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "timing/predictor.h"
#include "timing/table_prediction.h"
#include "timing/timing_rows.h"
#include "timing/unseen.h"

namespace headroom {
namespace {

using RowGroups = std::map<std::string, std::vector<TimingRow>>;

JudgedErrors judge_rows(const Predictor& predictor, const std::vector<TimingRow>& rows) {
  std::vector<JudgedRow> judged;
  for (const TimingRow& row : rows) {
    const PredictedTime t = predictor.predict(row);
    judged.push_back({row.us, t.us, t.low_us, t.high_us});
  }
  return judge(judged);
}

// The rows of one machine by group. A table without devices is of that machine.
RowGroups rows_of_machine(const TimingTable& table, std::vector<TimingRow> rows, const Machine& machine,
                          std::vector<std::string>& notes) {
  RowGroups groups;
  std::map<std::string, bool> is_own;
  std::size_t others = 0;
  for (TimingRow& row : rows) {
    if (!row.device.empty() && !is_own.contains(row.device))
      is_own[row.device] = names_machine(row.device, machine);
    if (row.device.empty() || is_own[row.device])
      groups[row.group].push_back(std::move(row));
    else
      ++others;
  }
  std::vector<std::string> devices;
  for (const auto& [device, own] : is_own) devices.push_back(device);
  if (groups.empty())
    reject(nearest(machine.name, devices), "{} has no rows of machine '{}'", table.origin, machine.name);
  if (others > 0) notes.push_back(fmt::format("{} of other devices left aside", counted_rows(others)));
  return groups;
}

// A kernel may be a little below its floor by errors of measurement, or because its clock was above that of
// the data sheet.
constexpr double kBelowFloor = 0.9;
// Far from what any device of a public table shows; a time in the wrong unit is off by 1000.
constexpr double kImplausible = 100;

constexpr const char* kUnitHint = "is 'us' in microseconds?";

// How the times of one device and group compare with what its machine can do.
struct TimeCheck {
  std::size_t below_floor = 0, far_below = 0, first_line = 0;  // the first line of those far below
  double median_ratio = 1;                                     // measured / formula

  TimeCheck(const TimingTable& table, const KernelForm& form, const std::vector<TimingRow>& rows,
            const Machine& machine) {
    const std::vector<double> constants = starting_values(form.constants(rows.front().group));
    std::vector<double> ratios;
    for (const TimingRow& row : rows) {
      const auto prepared = prepare(table, form, row, machine);
      const double seconds = row.us * 1e-6, floor = prepared->floor();
      below_floor += seconds < floor;
      if (seconds < kBelowFloor * floor && far_below++ == 0) first_line = row.line;
      ratios.push_back(seconds / fastest(*prepared, constants).seconds);
    }
    const auto middle = ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2);
    std::ranges::nth_element(ratios, middle);
    median_ratio = *middle;
  }

 private:
  static std::unique_ptr<PreparedRow> prepare(const TimingTable& table, const KernelForm& form,
                                              const TimingRow& row, const Machine& machine) {
    try {
      return form.prepare(row, machine, {});
    } catch (const Error& error) {
      throw at_line(error, table, row);
    }
  }
};

// Rejects times that the machine cannot reach, and notes what looks like a mistake.
void check_times(const TimingTable& table, const KernelForm& form, const std::vector<TimingRow>& rows,
                 const Machine& machine, std::vector<std::string>& notes) {
  if (rows.empty()) return;
  const TimeCheck check(table, form, rows, machine);
  const std::string& group = rows.front().group;
  if (2 * check.below_floor > rows.size())
    reject(Hint{kUnitHint}, "{}: {} of {} of {} are faster than the peaks of machine '{}' allow",
           table.origin, check.below_floor, counted_rows(rows.size()), group, machine.name);
  if (check.far_below > 0)
    notes.push_back(fmt::format(
        "{} of {} took less than {:.0f} % of the least time that the peaks of '{}' "
        "allow, first in line {}; {}",
        counted_rows(check.far_below), group, 100 * kBelowFloor, machine.name, check.first_line, kUnitHint));
  const double ratio = check.median_ratio;
  if (ratio > kImplausible || ratio < 1 / kImplausible)
    notes.push_back(fmt::format("{} on '{}': the median time is {:.4g} times what the formula expects; {}",
                                group, machine.name, ratio, kUnitHint));
}

// Splits rows into those to fit and those to judge on. All rows of a shape are in one part.
std::pair<std::vector<TimingRow>, std::vector<TimingRow>> split_rows(const std::vector<TimingRow>& rows,
                                                                     const Holdout& holdout) {
  std::pair<std::vector<TimingRow>, std::vector<TimingRow>> parts;
  if (holdout.rows == 0) return {rows, {}};
  const std::vector<std::vector<std::size_t>> shapes = rows_by_shape(rows);
  for (const std::size_t shape : shuffled(shapes.size(), holdout.seed)) {
    std::vector<TimingRow>& part = parts.first.size() < holdout.rows ? parts.first : parts.second;
    for (const std::size_t r : shapes[shape]) part.push_back(rows[r]);
  }
  return parts;
}

void calibrate_group(TableCalibration& result, const KernelForm& form, const std::vector<TimingRow>& rows,
                     const Holdout& holdout) {
  const Machine& machine = *result.calibration.machine;
  const auto [fitted, others] = split_rows(rows, holdout);
  Calibrated calibrated = calibrate_device(form, fitted, machine);
  CalibratedPart part{rows.front().group, "unseen rows", fitted.size(), calibrated.calibration.errors,
                      std::move(calibrated.outliers)};
  if (!others.empty()) {
    part.judged_on = fmt::format("{} not fitted", counted_rows(others.size()));
    part.errors = judge_rows(Predictor(form, calibrated.calibration, machine, &machine), others);
  }
  result.calibration.forms.push_back(std::move(calibrated.calibration));
  result.parts.push_back(std::move(part));
}

using Devices = std::vector<DeviceRows>;

std::map<std::string, Devices> devices_by_group(const TimingTable& table, std::vector<TimingRow> rows) {
  table.need("device");
  std::map<std::string, Machine> machines;
  std::map<std::string, Devices> groups;
  for (TimingRow& row : rows) {
    if (!machines.contains(row.device)) machines[row.device] = machine_of_device(table, row);
    const Machine& machine = machines[row.device];
    Devices& devices = groups[row.group];
    auto found = std::ranges::find(devices, machine.name, [](const DeviceRows& d) { return d.machine.name; });
    if (found == devices.end()) found = devices.insert(devices.end(), {machine, {}});
    found->rows.push_back(std::move(row));
  }
  return groups;
}

// Takes the device to judge on out of the list; leaves aside those with too few rows.
DeviceRows take_left_out(Devices& devices, const std::string& name, std::vector<std::string>& notes) {
  DeviceRows left_out;
  const auto found = std::ranges::find(devices, name, [](const DeviceRows& d) { return d.machine.name; });
  if (found != devices.end()) left_out = std::move(*found), devices.erase(found);
  std::erase_if(devices, [&](const DeviceRows& d) {
    const std::size_t shapes = rows_by_shape(d.rows).size();
    if (shapes >= kMinCalibrationRows) return false;
    notes.push_back(fmt::format("{} has {}: left aside", d.machine.name,
                                counted_shapes(d.rows.size(), shapes, d.rows.front().group)));
    return true;
  });
  return left_out;
}

}  // namespace

TableCalibration calibrate_table(const TimingTable& table, const std::string& name, const Holdout& holdout,
                                 const std::string& group_of_all) {
  const KernelForm& form = form_of(table);
  TableCalibration result;
  result.calibration.machine = find_machine(name);
  const RowGroups groups = rows_of_machine(table, rows_of(table, form, true, group_of_all),
                                           *result.calibration.machine, result.notes);
  for (const auto& [group, rows] : groups) {
    if (const std::size_t shapes = rows_by_shape(rows).size();
        shapes < kMinCalibrationRows && groups.size() > 1) {
      result.notes.push_back(fmt::format("{}: too few to fit", counted_shapes(rows.size(), shapes, group)));
      continue;
    }
    check_times(table, form, rows, *result.calibration.machine, result.notes);
    calibrate_group(result, form, rows, holdout);
  }
  if (result.parts.empty())
    reject(Hint{fmt::format("a fit takes at least {} rows of different shapes", kMinCalibrationRows)},
           "{}: no group has enough rows", table.origin);
  return result;
}

TableCalibration calibrate_table_shared(const TimingTable& table, const Holdout& holdout,
                                        const std::string& group_of_all) {
  const KernelForm& form = form_of(table);
  TableCalibration result;
  const std::string out = holdout.left_out.empty() ? "" : find_machine(holdout.left_out).name;
  bool judged = out.empty();
  for (auto& [group, devices] : devices_by_group(table, rows_of(table, form, true, group_of_all))) {
    const DeviceRows left_out = take_left_out(devices, out, result.notes);
    check_times(table, form, left_out.rows, left_out.machine, result.notes);
    for (const DeviceRows& d : devices) check_times(table, form, d.rows, d.machine, result.notes);
    FormCalibration fitted = calibrate_shared(form, devices);
    CalibratedPart part{group, "devices left out in turn", fitted.rows, fitted.errors, {}};
    if (!left_out.rows.empty()) {
      Predictor predictor(form, fitted, left_out.machine, nullptr);
      part.judged_on = left_out.machine.name;
      part.errors = judge_rows(predictor, left_out.rows);
      judged = true;
    }
    result.calibration.forms.push_back(std::move(fitted));
    result.parts.push_back(std::move(part));
  }
  if (!judged) reject("{} has no rows of '{}', which is to be left out", table.origin, out);
  return result;
}

}  // namespace headroom
