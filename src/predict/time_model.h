#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/json_fwd.h"
#include "machine/machine.h"
#include "plan/plan.h"
#include "predict/step_constants.h"

namespace headroom {

// What a model says of one step.
struct StepTime {
  double seconds = 0;
  double low = 0, high = 0;  // 90 % of such steps take a time between these
  double busy = 0;           // the part in which nothing else can use the device; the rest is latency
  double gap = 0;            // after it, until the next step of its stream begins
  double doubt = 0;          // the error to expect, of the logarithm; 0: not known
  std::string bound;         // what takes most of it: "compute", "launch", or a memory level
};

// The time of a step on a machine of its plan's kind. The kernel says what the step does (`Work`); only the
// time model knows what that costs.
class TimeModel {
 public:
  // Where its constants come from: fitted to this machine, to other machines, or assumed.
  enum class Basis { calibrated, shared, assumed };

  virtual ~TimeModel() = default;
  virtual std::string_view name() const = 0;
  virtual Basis basis() const = 0;
  virtual StepTime time(const Step& step, const Machine& machine, const Target& target) const = 0;
  // False: it has no figures for this kernel and operator, and takes those of others.
  virtual bool knows(const Step&, const Machine&, const Target&) const { return true; }
  // The interval of whole runs, as factors of their predicted time. It includes the errors that steps share.
  struct Factors {
    double low = 1, high = 1;
  };
  virtual Factors run_factors(double seconds, double doubt) const = 0;  // see doubt_of_run
  virtual double run_start_s() const { return 0; }  // what a run takes on top of its steps
  // What it takes besides if the host waits for its end, instead of queueing the next run behind it: the way
  // of the first launch to the device, and that of its end to the host.
  virtual double wait_s(const Machine& machine) const;
};
std::string_view name_of(TimeModel::Basis basis);
TimeModel::Basis basis_named(std::string_view name);  // "assumed" for any other name

// Constants of kernels that stand in files (time-models/cpu.json, gpu.json), for machines that nobody
// calibrated: shares of what the machine's own units and memories reach, starts as multiples of its own.
class ConstantsModel final : public TimeModel {
 public:
  ConstantsModel(std::string_view json, std::string_view origin);  // rejects any other file
  void add_kinds(std::string_view json, std::string_view origin);  // of another file; known kinds stay

  std::string_view name() const override { return name_; }
  Basis basis() const override { return basis_; }
  StepTime time(const Step& step, const Machine& machine, const Target& target) const override;
  Factors run_factors(double, double) const override { return run_factors_; }
  bool has(const std::string& family) const { return kinds_.contains(family); }

 private:
  void add_kinds(const Json& json, std::string_view origin);
  struct Kind {
    StepConstants shares;  // its start is replaced by:
    double starts = 1;     // times the machine's cost of a launch
  };
  const Kind& kind_of(const StepAmounts& amounts) const;  // of the kind, else of the family, else "plain"

  std::string name_;
  Basis basis_ = Basis::assumed;
  Factors factors_, run_factors_;  // of steps, of whole runs
  std::map<std::string, Kind> kinds_;
};

const TimeModel& default_time_model(const Machine& machine);  // built-in constants for its kind

// The time a step waits for other ranks, by the link that `bench allreduce` measured, as if none of it were
// hidden; 0 if no link is known.
double exchange_seconds(const Step& step, const Machine& machine, const Target& target);

// Peak rate for products in a precision. Without a unit for it the machine uses the next wider one; int8
// takes the rate of fp32. fp32 products may use tensor cores at a third of the fp16 rate (three fp16 products
// give one of fp32 accuracy).
double product_peak(const Machine& machine, DType dtype, bool tf32 = false);
double vector_peak(const Machine& machine, DType dtype);

// Seconds. An unknown rate sets no bound: a floor stays a floor, and no prediction is below it.
inline double time_at(double amount, double per_second) { return per_second > 0 ? amount / per_second : 0; }

// The type a problem computes in: that of its first float output, otherwise of its first float input.
DType float_type(const Problem& problem);
// The type of the factors of its products: int8 if both are 8-bit integers, else float_type.
DType product_type(const Problem& problem);
// A sentence if the plan has int8 products and no int8 rate of the machine is known; else empty.
std::string int8_fallback(const Plan& plan, const Machine& machine);

}  // namespace headroom
