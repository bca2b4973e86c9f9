#pragma once

#include <memory>
#include <string>
#include <vector>

#include "timing/predictor.h"
#include "timing/timing_table.h"

namespace headroom {

// A calibration and the name it has in messages.
struct NamedCalibration {
  std::shared_ptr<const Calibration> calibration;
  std::string name;
};
NamedCalibration read_calibration(const std::string& file);

// Which machine a table is predicted for, and with which constants.
struct TableSource {
  std::string machine;  // a name, a machine's file or a calibration's file; empty: each row names its device
  std::string constants;       // a calibration's file; empty: that of `machine`, or the built-in ones
  std::string precision = {};  // of all rows; empty: each row's own
};

// The rows of one device and group.
struct PredictedPart {
  std::string device, group;
  std::string basis;  // "calibrated" or "shared"
  std::size_t rows = 0;
  JudgedErrors errors;  // 0 rows: no times to compare with
};
struct TablePrediction {
  std::vector<PredictedTime> times;  // one per row
  std::vector<PredictedPart> parts;
  std::vector<std::string> notes;  // what the user should know
};
TablePrediction predict_table(const TimingTable& table, const KernelForm& form, const TableSource& source);

// The machine of a row's device; an Error names the file and the line.
Machine machine_of_device(const TimingTable& table, const TimingRow& row);
// Whether a row's device is this machine, by any of its names. Devices need not be known.
bool names_machine(const std::string& device, const Machine& machine);

}  // namespace headroom
