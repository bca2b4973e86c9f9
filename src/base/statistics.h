#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace headroom {

struct ConfidenceInterval {
  double low = 0, high = 0;
};

inline constexpr double kConfidence = 0.95;

// Of repeated runs, whose values are taken as normally distributed.
struct Statistics {
  std::int64_t samples = 0;
  double mean = 0;
  double deviation = 0;                  // of the sample: divided by samples - 1
  std::optional<double> variation = {};  // coefficient of variation: deviation / mean, for means above 0
  std::optional<ConfidenceInterval> mean_interval = {};  // by Student's t; needs two samples
  // By McKay's approximation in Vangel's form (1996). Absent where its upper end is infinite: few samples
  // that vary much, as three by 29 % of their mean or more.
  std::optional<ConfidenceInterval> variation_interval = {};
};

Statistics statistics_of(std::span<const double> samples, double confidence = kConfidence);

// The mean of `second` minus that of `first`, by Welch's method: their deviations may differ. Absent with
// fewer than two samples on a side.
struct MeanDifference {
  double difference = 0;
  ConfidenceInterval interval = {};
};
std::optional<MeanDifference> difference_of_means(std::span<const double> first,
                                                  std::span<const double> second,
                                                  double confidence = kConfidence);

// The value that a variable stays below with this probability.
double student_quantile(double probability, double freedom);
double chi_square_quantile(double probability, double freedom);

}  // namespace headroom
