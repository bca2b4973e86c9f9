#pragma once

#include <span>
#include <string>
#include <vector>

#include "timing/trees.h"

namespace headroom {

// Smooth interpolation between known rows: kernel ridge regression with exp(-distance / 2).
class Ridge {
 public:
  static Ridge fit(const FeatureRows& places, std::span<const double> targets, double noise = 0.3);
  double predict(std::span<const double> place) const;
  bool empty() const { return weights_.empty(); }
  Json to_json() const;
  static Ridge from_json(const Json& json, const std::string& origin, std::size_t width);

 private:
  FeatureRows places_;
  std::vector<double> weights_;
};

}  // namespace headroom
