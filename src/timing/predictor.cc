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

namespace {
constexpr double kCachedLow = 0.9;  // of a time that is itself an estimate
}

Predictor::Predictor(const KernelForm& form, const FormCalibration& calibration, const Machine& machine,
                     const Machine* calibrated, const Intervals* others)
    : form_(form),
      calibration_(calibration),
      machine_(machine),
      calibrated_(calibrated),
      intervals_(others == nullptr ? calibration.intervals : calibration.intervals.widened_to(*others)),
      nearest_(calibration.nearest_member(machine)),
      traits_(calibration.traits_for(machine)) {}

PredictedTime Predictor::predict(const TimingRow& row) const {
  const auto prepared = form_.prepare(row, machine_, traits_);
  const std::vector<double>& constants = calibration_.members[nearest_].constants;
  double seconds = calibration_.seconds(*prepared, machine_) * residual_factor(row, *prepared);
  seconds = std::max(seconds, prepared->floor());
  const Intervals::Bucket& around = intervals_.at(seconds);
  double low = seconds * std::min(around.low, 1.0);
  if (calibrated_ == nullptr) low = std::min(low, kCachedLow * prepared->cached_seconds(constants));
  low = std::max(low, prepared->floor());
  return {.us = seconds * 1e6,
          .low_us = low * 1e6,
          .high_us = seconds * std::max(around.high, 1.0) * 1e6,
          .explanation = prepared->explain(fastest(*prepared, constants).candidate, constants)};
}

double Predictor::residual_factor(const TimingRow& row, const PreparedRow& prepared) const {
  const Residual& residual = calibration_.residual;
  if (calibrated_ == nullptr || (residual.mix.trees <= 0 && residual.mix.ridge <= 0)) return 1;
  const FormCalibration::Member& member = calibration_.members.front();
  std::unique_ptr<PreparedRow> there;
  if (calibrated_ != &machine_) there = form_.prepare(row, *calibrated_, member.traits);
  const PreparedRow& known = there ? *there : prepared;
  const std::vector<double> features = residual_features(row, known, fastest(known, member.constants));
  return std::exp(residual.log_factor(features, residual_place(row)));
}

}  // namespace headroom
