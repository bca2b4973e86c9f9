#include "timing/residual.h"

#include <algorithm>

#include "base/error.h"
#include "base/json.h"

namespace headroom {

Residual Residual::fit(const FeatureRows& features, const FeatureRows& places,
                       std::span<const double> targets) {
  std::vector<double> clipped(targets.begin(), targets.end());
  for (double& y : clipped) y = std::clamp(y, -kClip, kClip);
  Residual residual;
  residual.trees_ = Trees::fit(features, clipped, {});
  residual.ridge_ = Ridge::fit(places, clipped);
  return residual;
}

double Residual::log_factor(std::span<const double> features, std::span<const double> place) const {
  double sum = 0;
  if (mix.trees > 0) sum += mix.trees * trees(features);
  if (mix.ridge > 0) sum += mix.ridge * ridge(place);
  return sum;
}

Json Residual::to_json() const {
  Json json = {{"tree_share", mix.trees}, {"ridge_share", mix.ridge}};
  if (mix.trees > 0) json["trees"] = trees_.to_json();
  if (mix.ridge > 0) json["ridge"] = ridge_.to_json();
  return json;
}

Residual Residual::from_json(const Json& json, const std::string& origin, std::size_t features,
                             std::size_t places) {
  Residual residual;
  try {
    residual.mix = {json.at("tree_share").get<double>(), json.at("ridge_share").get<double>()};
    if (residual.mix.trees > 0) residual.trees_ = Trees::from_json(json.at("trees"), origin, features);
    if (residual.mix.ridge > 0) residual.ridge_ = Ridge::from_json(json.at("ridge"), origin, places);
  } catch (const Json::exception&) {
    reject("{}: 'residual' is damaged", origin);
  }
  return residual;
}

}  // namespace headroom
