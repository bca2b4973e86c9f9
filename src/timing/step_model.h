#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "predict/step_constants.h"
#include "predict/time_model.h"
#include "timing/intervals.h"
#include "timing/ridge.h"

namespace headroom {

// One measured step of a probe network.
struct StepRow {
  StepAmounts amounts;
  double seconds = 0;
  int run = 0;  // which probe, in which mode: rows of one run are left out together
  int stream = 0;
  std::vector<int> waits = {};  // for these rows, counted from the first of its run
};
// One measured run of a whole probe: its steps are the rows of that number, in their order.
struct RunRow {
  int run = 0;
  double seconds = 0;
  double alone = 0;  // the same where the host waits for each run; 0: not timed
};

// How the time of a run follows from those of its steps.
struct RunConstants {
  double whole = 1;    // factor of every step: in a run they meet other caches and clocks than alone
  double gap_s = 0;    // after every launch
  double start_s = 0;  // of the run
  double wait_s = 0;   // more where the host waits for its end; 0: not known
};
// The seconds of a run. `seconds` are those of its rows, `busy` the shares of them that keep the device busy.
double run_seconds(std::span<const StepRow> rows, std::span<const double> seconds,
                   std::span<const double> busy, const RunConstants& constants);

// Constants fitted to one machine, with the errors they make on runs that the fit did not see.
struct StepCalibration {
  struct Kind {
    StepConstants constants;
    // Of kernels in any precision, or of a kind that has but one.
    Ridge correction;    // of log(measured / predicted); empty: none
    FeatureRows places;  // of its rows: how new a step is to it
    std::size_t rows = 0;
    JudgedErrors errors;
    double spread = 0;  // the mean |log(measured / predicted)| to expect of a step that was not seen
  };
  std::string machine, title, libraries;
  int cores = 0;
  // Of kinds, of kernels in any precision ("cudnn conv2d *"), of families, and "" of all together.
  std::map<std::string, Kind> kinds;
  // Of steps, of whole runs: to the power of their doubt.
  Intervals intervals, run_intervals;
  double growth = 0;  // of a step's doubt, with its novelty
  RunConstants run;
  JudgedErrors step_errors, run_errors;  // on runs not seen
  std::vector<StepRow> rows;             // all of it follows from these
  std::vector<RunRow> runs;

  const Kind& kind_of(const StepAmounts& amounts) const;        // the nearest: kind, kernel, family, all
  const Kind& neighbours_of(const StepAmounts& amounts) const;  // whose correction and places are to be used
  double seconds_of(const StepAmounts& amounts) const;
  double busy_share(const StepAmounts& amounts) const;  // of those seconds
  // How far it lies from the nearest timed step of its kind; 1: four times as much of one amount.
  double novelty_of(const StepAmounts& amounts) const;
  // The error to expect, of the logarithm: that of its kind, more of it the newer the step is.
  double doubt_of(const StepAmounts& amounts) const;
};
// The group of a kernel and operator, in any precision and layout.
std::string any_precision(const std::string& kind);
bool is_step_kind(const std::string& name);  // not such a group, nor a family, nor all
// Rejects fewer than `kMinStepRows` rows.
inline constexpr std::size_t kMinStepRows = 20;
StepCalibration fit_steps(std::vector<StepRow> rows, std::vector<RunRow> runs);

Json to_json(const StepCalibration& calibration);
// The constants alone, as a ConstantsModel reads them: shares of this machine's peaks, for other machines.
Json shared_constants(const StepCalibration& calibration, const Machine& machine);
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
  Factors run_factors(double seconds, double doubt) const override;
  double wait_s(const Machine& machine) const override;
  double run_start_s() const override { return calibration_.run.start_s; }
  const std::string& libraries() const { return calibration_.libraries; }
  void widen(double times) { wider_ = times; }  // all intervals, by their logarithms

 private:
  StepCalibration calibration_;
  double wider_ = 1;
};

// The model that knows a machine best: its own calibration, else the built-in constants.
const TimeModel& time_model_for(const Machine& machine);
// What its user should know of the calibration: it is damaged, or of another machine or other libraries. Told
// once, then empty.
std::string calibration_doubt(const Machine& machine);
// The libraries in use now. Where the calibration is of others, intervals become twice as wide.
void use_libraries(const Machine& machine, const std::string& libraries);

}  // namespace headroom
