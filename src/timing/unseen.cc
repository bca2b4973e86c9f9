#include "timing/unseen.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/random.h"
#include "base/text.h"

namespace headroom {

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed) {
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const Philox random(seed);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i, i)]);
  return order;
}

std::vector<std::vector<std::size_t>> rows_by_shape(const std::vector<TimingRow>& rows) {
  std::vector<std::vector<std::size_t>> shapes;
  std::map<std::vector<double>, std::size_t> known;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const auto [found, is_new] = known.try_emplace(rows[r].sizes, shapes.size());
    if (is_new) shapes.emplace_back();
    shapes[found->second].push_back(r);
  }
  return shapes;
}

// FNV-1a over the bytes of the sizes, which are whole numbers from 0.
std::uint32_t shape_hash(const TimingRow& row) {
  std::uint32_t hash = 2166136261u;
  for (const double size : row.sizes) {
    const auto bits = static_cast<std::uint64_t>(size);
    for (int shift = 0; shift < 64; shift += 8)
      hash = (hash ^ static_cast<std::uint32_t>((bits >> shift) & 0xFF)) * 16777619u;
  }
  return hash;
}

std::string counted_rows(std::size_t rows) { return counted(static_cast<std::int64_t>(rows), "row"); }

std::string counted_shapes(std::size_t rows, std::size_t shapes, const std::string& group) {
  std::string text = counted_rows(rows);
  if (!group.empty()) text += " of " + group;
  if (shapes < rows) text += " with " + counted(static_cast<std::int64_t>(shapes), "different shape");
  return text;
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
double outlier_limit(std::span<const double> residuals) {
  std::vector<double> sizes;
  for (const double r : residuals) sizes.push_back(std::abs(r));
  std::ranges::nth_element(sizes, sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2));
  return std::max(std::log(1.5), 6 * sizes[sizes.size() / 2] / 0.67);
}

std::vector<Outlier> outliers_of(const std::vector<TimingRow>& rows, std::span<const double> residuals) {
  const double limit = outlier_limit(residuals);
  std::vector<Outlier> outliers;
  for (std::size_t r = 0; r < rows.size(); ++r)
    if (std::abs(residuals[r]) > limit)
      outliers.push_back({rows[r].line, rows[r].us, rows[r].us / std::exp(residuals[r])});
  return outliers;
}

void UnseenPredictions::add(double predicted, double measured, double floor) {
  predicted_s.push_back(std::max(predicted, floor));
  floors_s.push_back(floor);
  residuals.push_back(std::log(measured / predicted_s.back()));
}

JudgedErrors UnseenPredictions::judge_with(const Intervals& intervals) const {
  std::vector<JudgedRow> rows;
  for (std::size_t r = 0; r < residuals.size(); ++r) {
    const double p = predicted_s[r];
    const Intervals::Bucket& b = intervals.at(p);
    const double low = std::max(p * std::min(b.low, 1.0), floors_s[r]);
    rows.push_back({p * std::exp(residuals[r]), p, low, p * std::max(b.high, 1.0)});
  }
  return judge(rows);
}

}  // namespace headroom
