#include "train/target_metrics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/error.h"

namespace headroom {
namespace {

double fraction(double part, double whole) { return whole > 0 ? part / whole : 0; }

// One column of both tables.
struct Column {
  std::vector<double> predicted, wanted;
};
Column column_of(std::span<const double> predicted, std::span<const float> targets, std::size_t each,
                 std::size_t number) {
  Column column;
  for (std::size_t i = number; i < predicted.size(); i += each) {
    column.predicted.push_back(predicted[i]);
    column.wanted.push_back(targets[i]);
  }
  return column;
}

void require_rows(std::span<const double> predicted, std::span<const float> targets, std::int64_t each) {
  if (each < 1 || predicted.empty() || predicted.size() != targets.size() ||
      predicted.size() % static_cast<std::size_t>(each) != 0)
    fail("{} predictions for {} targets in rows of {}", predicted.size(), targets.size(), each);
}

double r2_of(const Column& c) {
  const auto n = static_cast<double>(c.wanted.size());
  const double mean = std::accumulate(c.wanted.begin(), c.wanted.end(), 0.0) / n;
  double error = 0, variance = 0;
  for (std::size_t i = 0; i < c.wanted.size(); ++i) {
    error += std::pow(c.wanted[i] - c.predicted[i], 2);
    variance += std::pow(c.wanted[i] - mean, 2);
  }
  if (variance == 0) return error == 0 ? 1 : 0;
  return 1 - error / variance;
}

struct Counts {
  double right = 0, wrong = 0, missed = 0;  // predicted and true; predicted, not true; true, not predicted
  double f1() const { return fraction(2 * right, 2 * right + wrong + missed); }
};
Counts counts_of(const Column& c) {
  Counts counts;
  for (std::size_t i = 0; i < c.wanted.size(); ++i) {
    const bool said = c.predicted[i] > 0, is = c.wanted[i] > 0.5;
    counts.right += said && is, counts.wrong += said && !is, counts.missed += !said && is;
  }
  return counts;
}

double average_precision(const Column& c) {
  std::vector<std::size_t> order(c.wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::greater<>{}, [&](std::size_t i) { return c.predicted[i]; });
  double found = 0, sum = 0;
  for (std::size_t seen = 0; seen < order.size();) {
    const double score = c.predicted[order[seen]];
    double here = 0;
    for (; seen < order.size() && c.predicted[order[seen]] == score; ++seen)
      here += c.wanted[order[seen]] > 0.5;
    found += here;
    sum += here * found / static_cast<double>(seen);
  }
  return fraction(sum, found);
}

}  // namespace

RegressionScores regression_scores(std::span<const double> predicted, std::span<const float> targets,
                                   std::int64_t each) {
  require_rows(predicted, targets, each);
  RegressionScores scores;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double error = predicted[i] - targets[i];
    scores.mean_absolute += std::abs(error), scores.mean_squared += error * error;
  }
  scores.mean_absolute /= static_cast<double>(predicted.size());
  scores.mean_squared /= static_cast<double>(predicted.size());
  const auto columns = static_cast<std::size_t>(each);
  for (std::size_t i = 0; i < columns; ++i)
    scores.r2 += r2_of(column_of(predicted, targets, columns, i)) / static_cast<double>(columns);
  return scores;
}

LabelScores label_scores(std::span<const double> scores, std::span<const float> targets, std::int64_t each) {
  require_rows(scores, targets, each);
  LabelScores result;
  Counts all;
  double occurring = 0;
  const auto labels = static_cast<std::size_t>(each);
  for (std::size_t i = 0; i < labels; ++i) {
    const Column column = column_of(scores, targets, labels, i);
    const Counts counts = counts_of(column);
    all.right += counts.right, all.wrong += counts.wrong, all.missed += counts.missed;
    result.macro_f1 += counts.f1() / static_cast<double>(labels);
    if (counts.right + counts.missed == 0) continue;
    occurring += 1;
    result.mean_average_precision += average_precision(column);
  }
  result.mean_average_precision = fraction(result.mean_average_precision, occurring);
  result.micro_f1 = all.f1();
  std::size_t right = 0;
  for (std::size_t row = 0; row < scores.size(); row += labels) {
    bool same = true;
    for (std::size_t i = row; i < row + labels; ++i) same &= (scores[i] > 0) == (targets[i] > 0.5F);
    right += same;
  }
  result.all_right = fraction(static_cast<double>(right * labels), static_cast<double>(scores.size()));
  return result;
}

}  // namespace headroom
