#include "timing/intervals.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "timing/trees.h"

namespace headroom {
namespace {

// On each side. Fits of the folds see fewer rows than the fit of all, so their errors are a little larger:
// 5.5 % of theirs are 5 % of its.
constexpr double kTail = 0.055;
constexpr int kMinBucketRows = 19;  // with fewer the k-th smallest of k = 1 covers less than 90 %

double percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

// Few rows say little about the ends of a distribution: their range is stretched as for normal errors.
double stretch(double rows) {
  if (rows >= kMinBucketRows) return 1;
  return 1 + 2.0 * (kMinBucketRows - rows) / kMinBucketRows;
}

// `share`: of the rows that are not repeats. Repeats deviate alike, so they count as one row.
Intervals::Bucket bucket_of(std::vector<double> residuals, double share, double below_s) {
  std::ranges::sort(residuals);
  const double n = std::max(1.0, share * static_cast<double>(residuals.size()));
  // The k-th smallest of n leaves k / (n + 1) of new rows below it; between two rows for a broken k.
  const double k = std::clamp(kTail * (n + 1), 1.0, n);
  const double at = (k - 1) / std::max(n - 1, 1.0);
  const double centre = residuals[residuals.size() / 2], wider = stretch(n);
  const double low = centre + wider * (percentile(residuals, at) - centre);
  const double high = centre + wider * (percentile(residuals, 1 - at) - centre);
  return {below_s, rounded(std::exp(low)), rounded(std::exp(high))};
}

}  // namespace

JudgedErrors judge(std::span<const JudgedRow> rows) {
  std::vector<double> errors, widths;
  double inside = 0;
  for (const JudgedRow& row : rows) {
    errors.push_back(100 * std::abs(row.predicted / row.measured - 1));
    widths.push_back(100 * (row.high - row.low) / row.predicted);
    inside += row.low <= row.measured && row.measured <= row.high;
  }
  if (rows.empty()) return {};
  const auto n = static_cast<double>(rows.size());
  return {.rows = rows.size(),
          .mean = std::accumulate(errors.begin(), errors.end(), 0.0) / n,
          .median = percentile(errors, 0.5),
          .p90 = percentile(errors, 0.9),
          .coverage = 100 * inside / n,
          .median_width = percentile(widths, 0.5)};
}

Json to_json(const JudgedErrors& e) {
  return {{"rows", e.rows},
          {"mean_percent", rounded(e.mean)},
          {"median_percent", rounded(e.median)},
          {"p90_percent", rounded(e.p90)},
          {"coverage_percent", rounded(e.coverage)},
          {"median_width_percent", rounded(e.median_width)}};
}

Intervals Intervals::from_residuals(std::span<const double> predicted, std::span<const double> residuals,
                                    std::size_t shapes) {
  const std::size_t n = predicted.size();
  if (n == 0) fail("an interval needs residuals");
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return predicted[i]; });
  if (shapes == 0) shapes = n;
  const std::size_t count = std::clamp<std::size_t>(shapes / kMinBucketRows, 1, 3);
  const double share = static_cast<double>(shapes) / static_cast<double>(n);
  Intervals intervals;
  intervals.buckets_.clear();
  for (std::size_t b = 0; b < count; ++b) {
    const std::size_t begin = n * b / count, end = n * (b + 1) / count;
    std::vector<double> part;
    for (std::size_t i = begin; i < end; ++i) part.push_back(residuals[order[i]]);
    intervals.buckets_.push_back(
        bucket_of(std::move(part), share, b + 1 == count ? 0 : predicted[order[end]]));
  }
  return intervals;
}

Intervals Intervals::from_buckets(std::vector<Bucket> buckets) {
  if (buckets.empty()) fail("an interval needs a bucket");
  Intervals intervals;
  intervals.buckets_ = std::move(buckets);
  return intervals;
}

const Intervals::Bucket& Intervals::at(double predicted_s) const {
  for (const Bucket& bucket : buckets_)
    if (predicted_s < bucket.below_s) return bucket;
  return buckets_.back();
}

Intervals Intervals::widened_to(const Intervals& other) const {
  Intervals wide;
  wide.buckets_.clear();
  for (const Intervals* part : {this, &other})
    for (const Bucket& bucket : part->buckets_)
      if (bucket.below_s > 0) wide.buckets_.push_back(bucket);
  std::ranges::sort(wide.buckets_, {}, &Bucket::below_s);
  wide.buckets_.push_back({});
  double from = 0;
  for (Bucket& bucket : wide.buckets_) {
    const Bucket &a = at(from), &b = other.at(from);
    bucket.low = std::min(a.low, b.low), bucket.high = std::max(a.high, b.high);
    from = bucket.below_s;
  }
  return wide;
}

Json Intervals::to_json() const {
  Json list = Json::array();
  for (const Bucket& b : buckets_) {
    Json item = Json::object();
    if (b.below_s > 0) item["below_us"] = rounded(b.below_s * 1e6);
    item["low"] = b.low, item["high"] = b.high;
    list.push_back(item);
  }
  return list;
}

Intervals Intervals::from_json(const Json& json, const std::string& origin) {
  std::vector<Bucket> buckets;
  try {
    for (const Json& item : json)
      buckets.push_back({item.contains("below_us") ? item.at("below_us").get<double>() * 1e-6 : 0,
                         item.at("low").get<double>(), item.at("high").get<double>()});
  } catch (const Json::exception&) {
    reject("{}: 'intervals' is damaged", origin);
  }
  for (const Bucket& b : buckets)
    if (!(b.low > 0) || !(b.high >= b.low) || !std::isfinite(b.high))
      reject("{}: 'intervals' holds a factor from {} to {}", origin, b.low, b.high);
  if (buckets.empty()) reject("{}: 'intervals' is empty", origin);
  return from_buckets(std::move(buckets));
}

}  // namespace headroom
