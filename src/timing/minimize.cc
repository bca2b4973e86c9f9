#include "timing/minimize.h"

#include <algorithm>
#include <numeric>

namespace headroom {
namespace {

using Point = std::vector<double>;

class Simplex {
 public:
  Simplex(const std::function<double(std::span<const double>)>& objective, Point start,
          std::span<const double> low, std::span<const double> high, double step)
      : objective_(objective), low_(low), high_(high), n_(start.size()) {
    add(start);
    for (std::size_t i = 0; i < n_; ++i) {
      Point p = start;
      p[i] += p[i] + step <= high_[i] ? step : -step;
      add(std::move(p));
    }
    sort();
  }

  int evaluations() const { return evaluations_; }
  double spread() const { return values_.back() - values_.front(); }
  const Point& best() const { return points_.front(); }

  void improve() {
    const double n = static_cast<double>(n_);
    const Point centre = centroid();
    const auto along = [&](double t) { return toward(centre, points_.back(), -t); };
    Point reflected = along(1);
    const double value = evaluate(reflected);
    if (value < values_.front()) {
      Point further = along(1 + 2 / n);
      const double v = evaluate(further);
      return v < value ? replace(std::move(further), v) : replace(std::move(reflected), value);
    }
    if (value < values_[n_ - 1]) return replace(std::move(reflected), value);
    const bool outside = value < values_.back();
    Point nearer = along((outside ? 1 : -1) * (0.75 - 0.5 / n));
    const double v = evaluate(nearer);
    if (v < (outside ? value : values_.back())) return replace(std::move(nearer), v);
    shrink();
  }

 private:
  Point toward(const Point& from, const Point& to, double t) const {
    Point p(n_);
    for (std::size_t i = 0; i < n_; ++i) p[i] = from[i] + t * (to[i] - from[i]);
    return p;
  }
  Point centroid() const {
    Point sum(n_, 0.0);
    for (std::size_t k = 0; k < n_; ++k)
      for (std::size_t i = 0; i < n_; ++i) sum[i] += points_[k][i] / static_cast<double>(n_);
    return sum;
  }
  double evaluate(Point& p) {
    for (std::size_t i = 0; i < n_; ++i) p[i] = std::clamp(p[i], low_[i], high_[i]);
    ++evaluations_;
    return objective_(p);
  }
  void add(Point p) {
    const double value = evaluate(p);
    points_.push_back(std::move(p));
    values_.push_back(value);
  }
  void replace(Point p, double value) {
    const auto at = std::upper_bound(values_.begin(), values_.end() - 1, value) - values_.begin();
    points_.pop_back(), values_.pop_back();
    points_.insert(points_.begin() + at, std::move(p));
    values_.insert(values_.begin() + at, value);
  }
  void shrink() {
    const double share = 1 - 1 / static_cast<double>(std::max<std::size_t>(n_, 2));
    for (std::size_t k = 1; k <= n_; ++k) {
      points_[k] = toward(points_[0], points_[k], share);
      values_[k] = evaluate(points_[k]);
    }
    sort();
  }
  void sort() {
    std::vector<std::size_t> order(points_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, {}, [&](std::size_t k) { return values_[k]; });
    std::vector<Point> points;
    std::vector<double> values;
    for (const std::size_t k : order) points.push_back(points_[k]), values.push_back(values_[k]);
    points_ = std::move(points), values_ = std::move(values);
  }

  const std::function<double(std::span<const double>)>& objective_;
  std::span<const double> low_, high_;
  std::size_t n_;
  int evaluations_ = 0;
  std::vector<Point> points_;
  std::vector<double> values_;
};

}  // namespace

std::vector<double> minimize(const std::function<double(std::span<const double>)>& objective,
                             std::vector<double> start, std::span<const double> low,
                             std::span<const double> high, const MinimizeOptions& options) {
  if (start.empty()) return start;
  Simplex simplex(objective, std::move(start), low, high, options.step);
  while (simplex.evaluations() < options.evaluations && simplex.spread() > options.tolerance)
    simplex.improve();
  return simplex.best();
}

}  // namespace headroom
