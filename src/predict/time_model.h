#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "machine/machine.h"
#include "plan/plan.h"

namespace headroom {

// What a model says of one step.
struct StepTime {
  double seconds = 0;
  double low = 0, high = 0;  // 90 % of such steps take a time between these
  double busy = 0;           // the part in which nothing else can use the device; the rest is latency
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
  virtual Factors run_factors() const = 0;
};
std::string_view name_of(TimeModel::Basis basis);
TimeModel::Basis basis_named(std::string_view name);  // "assumed" for any other name

// The max of arithmetic and memory traffic, each at a share of the machine's ceilings, plus the launches. Its
// constants come from a file (time-models/roofline.json), one entry per family of kernels.
class RooflineModel final : public TimeModel {
 public:
  struct Family {
    double efficiency = 1;   // share of the peak for products of the step's type
    double half_extent = 0;  // extent of a product at which half of that is reached; 0: any extent
  };
  RooflineModel(std::string_view json, std::string_view origin);  // rejects any other file

  std::string_view name() const override { return name_; }
  Basis basis() const override { return Basis::assumed; }
  StepTime time(const Step& step, const Machine& machine, const Target& target) const override;
  Factors run_factors() const override { return factors_; }
  bool has(std::string_view family) const { return families_.contains(family); }

 private:
  double efficiency(const KernelLaunch& launch) const;

  std::string name_;
  Factors factors_;  // of steps, and of whole runs
  std::map<std::string, Family, std::less<>> families_;
};

const TimeModel& default_time_model();  // the built-in constants

// The time a step waits for other ranks, by the link that `bench allreduce` measured, as if none of it were
// hidden; 0 if no link is known.
double exchange_seconds(const Step& step, const Machine& machine, const Target& target);

// Peak rate for products in a precision. Without a unit for it the machine uses the next wider one. fp32
// products may use tensor cores at a third of the fp16 rate (three fp16 products give one of fp32 accuracy).
double product_peak(const Machine& machine, DType dtype, bool tf32 = false);
double vector_peak(const Machine& machine, DType dtype);

// Seconds. An unknown rate sets no bound: a floor stays a floor, and no prediction is below it.
inline double time_at(double amount, double per_second) { return per_second > 0 ? amount / per_second : 0; }

// The type a problem computes in: that of its first float output, otherwise of its first float input.
DType float_type(const Problem& problem);

}  // namespace headroom
