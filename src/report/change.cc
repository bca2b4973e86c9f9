#include "report/change.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace headroom {
namespace {

constexpr double kConfidence = 0.95;

// The k-th smallest and the k-th largest sample enclose the median unless fewer than k samples fall on one
// side of it. Returns the largest such k, counted from 1; 0 if even the outermost samples are not sure
// enough.
std::size_t enclosing_rank(std::size_t samples) {
  const double n = static_cast<double>(samples);
  double outside = 0;  // probability that fewer than k of n fair coins show heads
  std::size_t k = 0;
  for (; k < samples / 2; ++k) {
    const double heads = static_cast<double>(k);
    outside += std::exp(std::lgamma(n + 1) - std::lgamma(heads + 1) - std::lgamma(n - heads + 1) -
                        n * std::log(2.0));
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
  const std::span all(seconds);
  const double first = median_of(all.first(all.size() / 2)), second = median_of(all.subspan(all.size() / 2));
  interval.low = std::min({sorted[rank - 1], first, second});
  interval.high = std::max({sorted[sorted.size() - rank], first, second});
  return interval;
}

Change judge(const MedianInterval& before, const MedianInterval& after) {
  if (!before.known() || !after.known()) return Change::unsure;
  const bool near =
      after.high <= before.low * (1 + kSameWithin) && before.high <= after.low * (1 + kSameWithin);
  if (near) return Change::same;
  if (after.low > before.high) return Change::slower;
  if (after.high < before.low) return Change::faster;
  return Change::unsure;
}

}  // namespace headroom
