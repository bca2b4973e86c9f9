#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace headroom {

// How far predictions and measurements lie apart, in %.
struct JudgedErrors {
  std::size_t rows = 0;
  double mean = 0, median = 0, p90 = 0;  // |predicted / measured - 1|
  double coverage = 0;                   // measurements inside [low, high]
  double median_width = 0;               // (high - low) / predicted
};
struct JudgedRow {
  double measured = 0, predicted = 0, low = 0, high = 0;
};
JudgedErrors judge(std::span<const JudgedRow> rows);
Json to_json(const JudgedErrors& errors);

// 90 % intervals: factors on a predicted time, which depend on its size. They come from rows that the
// prediction did not see.
class Intervals {
 public:
  struct Bucket {
    double below_s = 0;  // predicted times up to this; the last bucket has no end
    double low = 1, high = 1;
  };

  // `predicted` in seconds and log(measured / predicted), in any order. `shapes`: how many of the rows are
  // not repeats of another; 0: all.
  static Intervals from_residuals(std::span<const double> predicted, std::span<const double> residuals,
                                  std::size_t shapes = 0);
  static Intervals from_buckets(std::vector<Bucket> buckets);  // at least one
  const Bucket& at(double predicted_s) const;
  const std::vector<Bucket>& buckets() const { return buckets_; }
  // At least as wide as the other everywhere, around the same prediction.
  Intervals widened_to(const Intervals& other) const;

  Json to_json() const;
  static Intervals from_json(const Json& json, const std::string& origin);

 private:
  std::vector<Bucket> buckets_ = {{0, 1, 1}};
};

}  // namespace headroom
