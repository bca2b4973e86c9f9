#include "timing/table_calibration.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/text.h"
#include "timing/predictor.h"
#include "timing/table_prediction.h"
#include "timing/timing_rows.h"
#include "timing/unseen.h"

namespace headroom {
namespace {

using RowGroups = std::map<std::string, std::vector<TimingRow>>;

std::string counted_rows(std::size_t rows) { return counted(static_cast<std::int64_t>(rows), "row"); }

JudgedErrors judge_rows(const Predictor& predictor, const std::vector<TimingRow>& rows) {
  std::vector<JudgedRow> judged;
  for (const TimingRow& row : rows) {
    const PredictedTime t = predictor.predict(row);
    judged.push_back({row.us, t.us, t.low_us, t.high_us});
  }
  return judge(judged);
}

// Other devices of a table need not be known.
bool names_machine(const std::string& device, const Machine& machine) {
  if (device == machine.name) return true;
  try {
    return find_machine(device).name == machine.name;
  } catch (const Error&) {
    return false;
  }
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

// Splits rows into those to fit and those to judge on.
std::pair<std::vector<TimingRow>, std::vector<TimingRow>> split_rows(const std::vector<TimingRow>& rows,
                                                                     const Holdout& holdout) {
  std::pair<std::vector<TimingRow>, std::vector<TimingRow>> parts;
  const std::size_t fitted = holdout.rows == 0 ? rows.size() : std::min(holdout.rows, rows.size());
  const std::vector<std::size_t> order = shuffled(rows.size(), holdout.seed);
  for (std::size_t i = 0; i < rows.size(); ++i)
    (i < fitted ? parts.first : parts.second).push_back(rows[holdout.rows == 0 ? i : order[i]]);
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
    if (d.rows.size() >= kMinCalibrationRows) return false;
    notes.push_back(fmt::format("{} has {} of {}: left aside", d.machine.name, counted_rows(d.rows.size()),
                                d.rows.front().group));
    return true;
  });
  return left_out;
}

}  // namespace

TableCalibration calibrate_table(const TimingTable& table, const std::string& name, const Holdout& holdout) {
  const KernelForm& form = form_of(table);
  TableCalibration result;
  result.calibration.machine = find_machine(name);
  const RowGroups groups =
      rows_of_machine(table, rows_of(table, form, true), *result.calibration.machine, result.notes);
  for (const auto& [group, rows] : groups) {
    if (rows.size() < kMinCalibrationRows && groups.size() > 1)
      result.notes.push_back(fmt::format("{} of {}: too few to fit", counted_rows(rows.size()), group));
    else
      calibrate_group(result, form, rows, holdout);
  }
  if (result.parts.empty())
    reject(Hint{fmt::format("a fit takes at least {} rows", kMinCalibrationRows)},
           "{}: no group has enough rows", table.origin);
  return result;
}

TableCalibration calibrate_table_shared(const TimingTable& table, const Holdout& holdout) {
  const KernelForm& form = form_of(table);
  TableCalibration result;
  const std::string out = holdout.left_out.empty() ? "" : find_machine(holdout.left_out).name;
  bool judged = out.empty();
  for (auto& [group, devices] : devices_by_group(table, rows_of(table, form, true))) {
    const DeviceRows left_out = take_left_out(devices, out, result.notes);
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
