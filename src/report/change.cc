#include "report/change.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace headroom {
namespace {

constexpr double kConfidence = 0.95;
constexpr std::size_t kParts = 8, kSamplesOfAPart = 4;

// The k-th smallest and the k-th largest sample enclose the median unless fewer than k samples fall on one
// side of it. Returns the largest such k, counted from 1; 0 if even the outermost samples are not sure
// enough.
std::size_t enclosing_rank(std::size_t samples) {
  const double n = static_cast<double>(samples), orders = std::lgamma(n + 1), tosses = n * std::log(2.0);
  double outside = 0;  // probability that fewer than k of n fair coins show heads
  std::size_t k = 0;
  for (; k < samples / 2; ++k) {
    const double heads = static_cast<double>(k);
    outside += std::exp(orders - std::lgamma(heads + 1) - std::lgamma(n - heads + 1) - tosses);
    if (2 * outside > 1 - kConfidence) break;
  }
  return k;
}

double median_of(std::span<const double> part) { return spread_of({part.begin(), part.end()}).median; }

}  // namespace

std::string_view name_of(Change change) {
  switch (change) {
    case Change::same:
      return "same";
    case Change::faster:
      return "faster";
    case Change::slower:
      return "slower";
    case Change::unsure:
      return "unsure";
    case Change::added:
      return "new";
    case Change::gone:
      return "gone";
  }
  return "";
}

MedianInterval median_interval(const std::vector<double>& seconds) {
  MedianInterval interval{.spread = spread_of(seconds)};
  const std::size_t rank = enclosing_rank(seconds.size());
  if (rank == 0) return interval;
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  interval.low = interval.lowest = sorted[rank - 1];
  interval.high = interval.highest = sorted[sorted.size() - rank];
  const std::size_t parts = std::min(kParts, seconds.size() / kSamplesOfAPart);
  for (std::size_t p = 0; p < parts; ++p) {
    const std::size_t begin = p * seconds.size() / parts, end = (p + 1) * seconds.size() / parts;
    const double median = median_of(std::span(seconds).subspan(begin, end - begin));
    interval.lowest = std::min(interval.lowest, median);
    interval.highest = std::max(interval.highest, median);
  }
  return interval;
}

Change judge(const MedianInterval& before, const MedianInterval& after) {
  if (!before.known() || !after.known()) return Change::unsure;
  const bool near =
      after.high <= before.low * (1 + kSameWithin) && before.high <= after.low * (1 + kSameWithin);
  if (near) return Change::same;
  const double ratio = after.spread.median / before.spread.median;
  if (after.lowest > before.highest && ratio > 1 + kSameWithin) return Change::slower;
  if (after.highest < before.lowest && 1 / ratio > 1 + kSameWithin) return Change::faster;
  return Change::unsure;
}

}  // namespace headroom
