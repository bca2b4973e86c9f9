#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/time_model.h"
#include "timing/intervals.h"
#include "timing/ridge.h"

namespace headroom {

// What the time of a step follows from, on one machine. Steps of one kind share constants.
struct StepAmounts {
  std::string kind;            // "cpu.gemm conv2d": the family of its main kernel, and the operator
  std::string family;          // "cpu.gemm"
  double flops = 0, peak = 0;  // of the unit that does the products, FLOP/s; 0: unknown
  double bytes = 0, rate = 0;  // of the smallest memory that holds them, bytes/s; 0: unknown
  double m = 0, n = 0, k = 0;  // extents of its product; 0: does not apply
  double launches = 1;
  std::string level;  // that memory
};
StepAmounts amounts_of(const Step& step, const Machine& machine, const Target& target);

struct StepConstants {
  double efficiency = 0.5;    // share of the peak that long products reach
  double half_extent = 4;     // extent of a product at which half of that is left
  double memory_share = 0.5;  // share of the memory's rate
  double start_s = 1e-6;      // of a launch
};
// The parts of a step's time. The whole is a smooth maximum of the first two, plus the third.
struct StepTimeParts {
  double compute = 0, memory = 0, start = 0;
  double busy() const;
  double seconds() const { return busy() + start; }
};
StepTimeParts parts_of(const StepAmounts& amounts, const StepConstants& constants);

// One measured step of a probe network.
struct StepRow {
  StepAmounts amounts;
  double seconds = 0;
  int run = 0;  // which probe, in which mode: rows of one run are left out together
};
// One measured run of a whole probe: its steps are the rows of that number.
struct RunRow {
  int run = 0;
  double seconds = 0;
};

// Constants fitted to one machine, with the errors they make on runs that the fit did not see.
struct StepCalibration {
  struct Kind {
    StepConstants constants;
    Ridge correction;  // of log(measured / predicted); empty: none
    std::size_t rows = 0;
    JudgedErrors errors;
  };
  std::string machine, title, libraries;
  int cores = 0;
  std::map<std::string, Kind> kinds;     // of kinds, of families, and "" of all together
  Intervals intervals;                   // of steps
  double whole = 1;                      // a run takes so many times the sum of its steps
  TimeModel::Factors run_factors;        // of whole runs
  JudgedErrors step_errors, run_errors;  // on runs not seen
  std::vector<StepRow> rows;             // all of it follows from these
  std::vector<RunRow> runs;

  const Kind& kind_of(const StepAmounts& amounts) const;  // the nearest: kind, family, all
  double seconds_of(const StepAmounts& amounts) const;
};
// Rejects fewer than `kMinStepRows` rows.
inline constexpr std::size_t kMinStepRows = 20;
StepCalibration fit_steps(std::vector<StepRow> rows, std::vector<RunRow> runs);

Json to_json(const StepCalibration& calibration);
StepCalibration step_calibration_from_json(const Json& json, const std::string& origin);

// Beside the user's machine files: cache_dir()/calibrations/NAME.json.
std::filesystem::path calibration_file(std::string_view machine);
void save_calibration(const StepCalibration& calibration);
// Empty if there is none. A damaged file, or one of another machine or library, is as good as none: `why`
// then says so.
std::optional<StepCalibration> find_calibration(const Machine& machine, std::string& why);

class CalibratedModel final : public TimeModel {
 public:
  explicit CalibratedModel(StepCalibration calibration) : calibration_(std::move(calibration)) {}
  std::string_view name() const override { return "calibrated"; }
  Basis basis() const override { return Basis::calibrated; }
  StepTime time(const Step& step, const Machine& machine, const Target& target) const override;
  bool knows(const Step& step, const Machine& machine, const Target& target) const override {
    return calibration_.kinds.contains(amounts_of(step, machine, target).kind);
  }
  Factors run_factors() const override;

 private:
  StepCalibration calibration_;
};

// The model that knows a machine best: its own calibration, else the built-in constants.
const TimeModel& time_model_for(const Machine& machine);

}  // namespace headroom
