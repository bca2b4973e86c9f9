#include "base/statistics.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <numeric>

namespace headroom {
namespace {

// Where an increasing function reaches a value, between two ends.
double bisect(double low, double high, double value, const std::function<double(double)>& increasing) {
  constexpr int kHalvings = 100;
  for (int i = 0; i < kHalvings && low < high; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle == low || middle == high) break;
    (increasing(middle) < value ? low : high) = middle;
  }
  return low + (high - low) / 2;
}

// The probability that a chi-square variable stays below x: the series of the incomplete gamma function, all
// of whose terms are positive.
double chi_square_below(double x, double freedom) {
  const double shape = freedom / 2, at = x / 2;
  if (at <= 0) return 0;
  double term = std::exp(shape * std::log(at) - at - std::lgamma(shape + 1)), sum = term;
  for (double i = shape + 1; term > sum * std::numeric_limits<double>::epsilon() / 4; ++i) {
    term *= at / i;
    sum += term;
  }
  return sum;
}

// The probability that Student's variable lies between 0 and sqrt(freedom) tan(angle). In the angle its
// density is a power of the cosine, which is bounded and smooth; Simpson's rule is exact enough.
double student_up_to(double angle, double freedom) {
  constexpr int kPieces = 400;
  const double width = angle / kPieces;
  double sum = 0;
  for (int i = 0; i <= kPieces; ++i) {
    const double weight = i == 0 || i == kPieces ? 1 : i % 2 == 1 ? 4 : 2;
    sum += weight * std::pow(std::cos(width * i), freedom - 1);
  }
  const double scale =
      std::exp(std::lgamma((freedom + 1) / 2) - std::lgamma(freedom / 2)) / std::sqrt(std::numbers::pi);
  return scale * sum * width / 3;
}

double mean_of(std::span<const double> samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / double(samples.size());
}

double variance_of(std::span<const double> samples, double mean) {
  double squares = 0;
  for (const double sample : samples) squares += (sample - mean) * (sample - mean);
  return squares / double(samples.size() - 1);
}

std::optional<ConfidenceInterval> variation_interval_of(double variation, double samples, double outside) {
  const auto bound = [&](double quantile) {
    const double under_root =
        ((quantile + 2) / samples - 1) * variation * variation + quantile / (samples - 1);
    return under_root > 0 ? variation / std::sqrt(under_root) : std::numeric_limits<double>::infinity();
  };
  const ConfidenceInterval interval{bound(chi_square_quantile(1 - outside / 2, samples - 1)),
                                    bound(chi_square_quantile(outside / 2, samples - 1))};
  if (!std::isfinite(interval.high)) return {};
  return interval;
}

}  // namespace

double student_quantile(double probability, double freedom) {
  if (probability < 0.5) return -student_quantile(1 - probability, freedom);
  const double angle =
      bisect(0, std::numbers::pi / 2, probability - 0.5, [&](double a) { return student_up_to(a, freedom); });
  return std::sqrt(freedom) * std::tan(angle);
}

double chi_square_quantile(double probability, double freedom) {
  const double high = freedom + 10 * std::sqrt(2 * freedom) + 40;
  return bisect(0, high, probability, [&](double x) { return chi_square_below(x, freedom); });
}

Statistics statistics_of(std::span<const double> samples, double confidence) {
  Statistics result{.samples = std::ssize(samples)};
  if (samples.empty()) return result;
  const double count = double(samples.size()), outside = 1 - confidence;
  result.mean = mean_of(samples);
  if (samples.size() < 2) return result;
  result.deviation = std::sqrt(variance_of(samples, result.mean));
  const double half = student_quantile(1 - outside / 2, count - 1) * result.deviation / std::sqrt(count);
  result.mean_interval = {result.mean - half, result.mean + half};
  if (result.mean > 0) {
    result.variation = result.deviation / result.mean;
    result.variation_interval = variation_interval_of(*result.variation, count, outside);
  }
  return result;
}

std::optional<MeanDifference> difference_of_means(std::span<const double> first,
                                                  std::span<const double> second, double confidence) {
  if (first.size() < 2 || second.size() < 2) return {};
  const double one = mean_of(first), two = mean_of(second);
  const double a = variance_of(first, one) / double(first.size());
  const double b = variance_of(second, two) / double(second.size());
  const double difference = two - one;
  if (a + b == 0) return MeanDifference{difference, {difference, difference}};
  const double freedom =
      (a + b) * (a + b) / (a * a / double(first.size() - 1) + b * b / double(second.size() - 1));
  const double half = student_quantile(1 - (1 - confidence) / 2, freedom) * std::sqrt(a + b);
  return MeanDifference{difference, {difference - half, difference + half}};
}

}  // namespace headroom
