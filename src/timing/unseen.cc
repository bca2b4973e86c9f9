#include "timing/unseen.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/random.h"

namespace headroom {

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Philox random(seed);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

PreparedRows prepare_rows(const KernelForm& form, const std::vector<TimingRow>& rows, const Machine& machine,
                          const Traits& traits) {
  PreparedRows prepared;
  for (const TimingRow& row : rows) {
    prepared.rows.push_back(form.prepare(row, machine, traits));
    prepared.measured_s.push_back(row.us * 1e-6);
  }
  return prepared;
}

// A median of |residual| is 0.67 standard deviations; beyond six of those, and a factor of 1.5, is no noise.
std::vector<Outlier> outliers_of(const std::vector<TimingRow>& rows, const std::vector<double>& residuals) {
  std::vector<double> sizes;
  for (const double r : residuals) sizes.push_back(std::abs(r));
  std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2));
  const double limit = std::max(std::log(1.5), 6 * sizes[sizes.size() / 2] / 0.67);
  std::vector<Outlier> outliers;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (std::abs(residuals[r]) > limit)
      outliers.push_back({rows[r].line, rows[r].us, rows[r].us / std::exp(residuals[r])});
  return outliers;
}

JudgedErrors judge_residuals(std::span<const double> predicted_s, std::span<const double> residuals,
                             const Intervals& intervals) {
  std::vector<JudgedRow> rows;
  for (std::size_t r = 0; r < residuals.size(); ++r) {
    const double p = predicted_s[r];
    const Intervals::Bucket& b = intervals.at(p);
    rows.push_back({p * std::exp(residuals[r]), p, p * std::min(b.low, 1.0), p * std::max(b.high, 1.0)});
  }
  return judge(rows);
}

}  // namespace headroom
