#include "timing/ridge.h"

#include <cmath>

#include "base/error.h"
#include "base/json.h"

namespace headroom {
namespace {

double similarity(std::span<const double> a, std::span<const double> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::exp(-std::sqrt(sum) / 2);
}

// Solves A x = y for a symmetric positive definite A, row after row, by Cholesky factors in its place.
std::vector<double> solve(std::vector<double> a, std::vector<double> y) {
  const std::size_t n = y.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      double sum = a[i * n + j];
      for (std::size_t k = 0; k < j; ++k) sum -= a[i * n + k] * a[j * n + k];
      a[i * n + j] = i == j ? std::sqrt(sum) : sum / a[j * n + j];
    }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k) y[i] -= a[i * n + k] * y[k];
    y[i] /= a[i * n + i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) y[i] -= a[k * n + i] * y[k];
    y[i] /= a[i * n + i];
  }
  return y;
}

}  // namespace

Ridge Ridge::fit(const FeatureRows& places, std::span<const double> targets, double noise) {
  Ridge ridge;
  ridge.places_ = places;
  for (double& v : ridge.places_.values) v = rounded(v);
  const std::size_t n = places.rows();
  std::vector<double> a(n * n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      a[i * n + j] = similarity(ridge.places_.row(i), ridge.places_.row(j)) + (i == j ? noise : 0);
  ridge.weights_ = solve(std::move(a), {targets.begin(), targets.end()});
  for (double& w : ridge.weights_) w = rounded(w);
  return ridge;
}

double Ridge::predict(std::span<const double> place) const {
  double sum = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i) sum += weights_[i] * similarity(place, places_.row(i));
  return sum;
}

Json Ridge::to_json() const {
  return {{"places", numbers_text(places_.values)}, {"weights", numbers_text(weights_)}};
}

Ridge Ridge::from_json(const Json& json, const std::string& origin, std::size_t width) {
  Ridge ridge;
  ridge.places_.values = numbers_from(json.at("places"), origin);
  ridge.weights_ = numbers_from(json.at("weights"), origin);
  ridge.places_.width = width;
  if (ridge.places_.values.size() != ridge.weights_.size() * width)
    reject("{}: 'ridge' has {} numbers for {} rows", origin, ridge.places_.values.size(),
           ridge.weights_.size());
  return ridge;
}

}  // namespace headroom
