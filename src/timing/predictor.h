#pragma once

#include <string>

#include "timing/calibration.h"

namespace headroom {

struct PredictedTime {
  double us = 0, low_us = 0, high_us = 0;
  Explanation explanation;
};

// Times of one form and group on one machine.
class Predictor {
 public:
  // `calibrated`: the machine that the residuals are from; null if they are shared. `others`: intervals for
  // devices never measured, used if `machine` is another one.
  Predictor(const KernelForm& form, const FormCalibration& calibration, const Machine& machine,
            const Machine* calibrated, const Intervals* others = nullptr);

  // The library's tiles on this machine are known: use them in place of those of the nearest device.
  void set_traits(Traits traits) { traits_ = std::move(traits); }
  PredictedTime predict(const TimingRow& row) const;

 private:
  double residual_factor(const TimingRow& row, const PreparedRow& prepared) const;

  const KernelForm& form_;
  const FormCalibration& calibration_;
  const Machine& machine_;
  const Machine* calibrated_;
  Intervals intervals_;
  std::size_t nearest_;
  Traits traits_;
};

// The input of the residual correction: features of the trees, and the place among other rows.
std::vector<double> residual_features(const TimingRow& row, const PreparedRow& prepared,
                                      const Fastest& fastest);
std::vector<double> residual_place(const TimingRow& row);

}  // namespace headroom
