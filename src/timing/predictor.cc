#include "timing/predictor.h"

#include <algorithm>
#include <cmath>

namespace headroom {

std::vector<double> residual_place(const TimingRow& row) {
  std::vector<double> place;
  for (const double size : row.sizes) place.push_back(std::log2(std::max(size, 0.5)));
  return place;
}

std::vector<double> residual_features(const TimingRow& row, const PreparedRow& prepared,
                                      const Fastest& fastest) {
  std::vector<double> features = residual_place(row);
  features.push_back(std::log2(fastest.seconds));
  prepared.add_features(fastest.candidate, features);
  return features;
}

Predictor::Predictor(const KernelForm& form, const FormCalibration& calibration, const Machine& machine,
                     const Machine* calibrated, const Intervals* others)
    : form_(form),
      calibration_(calibration),
      machine_(machine),
      calibrated_(calibrated),
      intervals_(others == nullptr ? calibration.intervals : calibration.intervals.widened_to(*others)) {}

PredictedTime Predictor::predict(const TimingRow& row) const {
  const auto& constants = calibration_.constants;
  const auto prepared = form_.prepare(row, machine_, calibration_.traits_for(machine_));
  const Fastest chosen = fastest(*prepared, constants);
  double seconds = chosen.seconds;
  if (calibrated_ != nullptr &&
      (calibration_.residual.mix.trees > 0 || calibration_.residual.mix.ridge > 0)) {
    const bool same = calibrated_ == &machine_;
    const auto there =
        same ? nullptr : form_.prepare(row, *calibrated_, calibration_.traits_for(*calibrated_));
    const PreparedRow& known = same ? *prepared : *there;
    const Fastest known_fastest = same ? chosen : fastest(known, constants);
    seconds *= std::exp(
        calibration_.residual.log_factor(residual_features(row, known, known_fastest), residual_place(row)));
  }
  seconds = std::max(seconds, prepared->floor());
  const Intervals::Bucket& around = intervals_.at(seconds);
  const double low = std::max(seconds * std::min(around.low, 1.0), prepared->floor());
  return {.us = seconds * 1e6,
          .low_us = low * 1e6,
          .high_us = seconds * std::max(around.high, 1.0) * 1e6,
          .explanation = prepared->explain(chosen.candidate, constants)};
}

}  // namespace headroom
