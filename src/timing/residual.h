#pragma once

#include <span>
#include <string>
#include <vector>

#include "timing/ridge.h"
#include "timing/trees.h"

namespace headroom {

// What a form leaves over on a calibrated device: log(measured / predicted) as a function of the row. It
// knows rows of that device only, so its factor stays the same when the machine is changed in thought.
class Residual {
 public:
  // The shares of both parts; 0 and 0: no correction.
  struct Mix {
    double trees = 0, ridge = 0;
  };
  // Targets beyond this are outliers, which must not bend the correction of their neighbours.
  static constexpr double kClip = 1;

  static Residual fit(const FeatureRows& features, const FeatureRows& places,
                      std::span<const double> targets);
  double trees(std::span<const double> features) const { return trees_.predict(features); }
  double ridge(std::span<const double> place) const { return ridge_.predict(place); }
  double log_factor(std::span<const double> features, std::span<const double> place) const;

  Mix mix;

  Json to_json() const;
  static Residual from_json(const Json& json, const std::string& origin, std::size_t features,
                            std::size_t places);

 private:
  Trees trees_;
  Ridge ridge_;
};

}  // namespace headroom
