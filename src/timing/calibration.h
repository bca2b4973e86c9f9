#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "timing/fit.h"
#include "timing/intervals.h"
#include "timing/kernel_form.h"
#include "timing/residual.h"

namespace headroom {

// The constants of one form and group, and all that turns them into times with intervals.
struct FormCalibration {
  // What the rows of one device tell.
  struct Member {
    std::string device;
    int compute_capability = 0;
    std::vector<double> constants;  // in the order of KernelForm::constants
    Traits traits;
  };

  std::string form, group;
  std::size_t rows = 0;
  std::vector<Member> members;  // one, or several devices whose predictions are averaged
  Residual residual;            // of the calibrated device; none if shared
  Intervals intervals;
  JudgedErrors errors;  // on rows that a fit did not see; shared: on devices that a fit did not see
  // The shapes of the rows (see shape_hash), in order. None if shared, or from an older program.
  std::vector<std::uint32_t> fitted_shapes = {};

  // The seconds of a prepared row: the geometric mean of what the members say, where members of near
  // generations count more. It looks at the compute capability alone: a weight that followed rates or sizes
  // could make a faster machine slower.
  double seconds(const PreparedRow& row, const Machine& machine) const;
  // Of the nearest device. None if that is of another generation: libraries choose anew for each.
  Traits traits_for(const Machine& machine) const;
  std::size_t nearest_member(const Machine& machine) const;
};

// Fitted kernel times: of one machine, or shared by several.
struct Calibration {
  std::optional<Machine> machine;  // none: shared
  std::vector<FormCalibration> forms;

  const FormCalibration* find(const std::string& form, const std::string& group) const;
};

// A row that the fit did not explain.
struct Outlier {
  std::size_t line = 0;
  double measured_us = 0, predicted_us = 0;
};
struct Calibrated {
  FormCalibration calibration;
  std::vector<Outlier> outliers;
};

inline constexpr std::size_t kMinCalibrationRows = 10;  // of different shapes

// Fits the rows of one device and one group. Rejects fewer than kMinCalibrationRows different shapes.
Calibrated calibrate_device(const KernelForm& form, const std::vector<TimingRow>& rows,
                            const Machine& machine);

// Fits what several devices share. Intervals and errors come from leaving out one device after another, so
// they hold for a device that was never measured.
struct DeviceRows {
  Machine machine;
  std::vector<TimingRow> rows;
};
FormCalibration calibrate_shared(const KernelForm& form, const std::vector<DeviceRows>& devices);

Json to_json(const Calibration& calibration);
Calibration calibration_from_json(const Json& json, const std::string& origin);
bool holds_calibration(const Json& json);

// The constants that are built in, shared by the devices of public tables.
const Calibration& shared_calibration();

}  // namespace headroom
