#include "train/metrics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace headroom {
namespace {

double ratio(std::int64_t part, std::int64_t whole) { return whole > 0 ? double(part) / double(whole) : 0; }

}  // namespace

Metrics::Metrics(std::int64_t classes, std::int64_t top)
    : classes_(classes),
      top_(std::min(top, classes)),
      confusion_(static_cast<std::size_t>(classes * classes)) {}

void Metrics::add(std::span<const double> scores, std::span<const std::int32_t> labels) {
  if (scores.size() != labels.size() * static_cast<std::size_t>(classes_))
    fail("{} scores for {} labels of {} classes", scores.size(), labels.size(), classes_);
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row =
        scores.subspan(i * static_cast<std::size_t>(classes_), static_cast<std::size_t>(classes_));
    const double own = row[static_cast<std::size_t>(labels[i])];
    const auto best = std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double s : row) sum += std::exp(s - *best);
    log_loss_ += std::log(sum) + *best - own;
    in_top_ += std::count_if(row.begin(), row.end(), [&](double s) { return s > own; }) < top_;
    const std::int64_t said = best - row.begin();
    right_ += said == labels[i];
    ++confusion_[static_cast<std::size_t>(labels[i] * classes_ + said)];
    ++images_;
  }
}

std::vector<double> Metrics::counts() const {
  std::vector<double> list = {static_cast<double>(images_), static_cast<double>(right_),
                              static_cast<double>(in_top_), log_loss_};
  list.insert(list.end(), confusion_.begin(), confusion_.end());
  return list;
}

void Metrics::set_counts(std::span<const double> counts) {
  if (counts.size() != 4 + confusion_.size()) fail("{} counts of {} classes", counts.size(), classes_);
  images_ = static_cast<std::int64_t>(counts[0]);
  right_ = static_cast<std::int64_t>(counts[1]);
  in_top_ = static_cast<std::int64_t>(counts[2]);
  log_loss_ = counts[3];
  std::ranges::transform(counts.subspan(4), confusion_.begin(),
                         [](double n) { return static_cast<std::int64_t>(n); });
}

double Metrics::accuracy() const { return ratio(right_, images_); }
double Metrics::top_accuracy() const { return ratio(in_top_, images_); }
double Metrics::log_loss() const { return images_ > 0 ? log_loss_ / double(images_) : 0; }

std::int64_t Metrics::images_of(std::int64_t truth) const {
  std::int64_t sum = 0;
  for (std::int64_t said = 0; said < classes_; ++said) sum += confused(truth, said);
  return sum;
}

double Metrics::precision(std::int64_t label) const {
  std::int64_t said = 0;
  for (std::int64_t truth = 0; truth < classes_; ++truth) said += confused(truth, label);
  return ratio(confused(label, label), said);
}

double Metrics::recall(std::int64_t label) const { return ratio(confused(label, label), images_of(label)); }

}  // namespace headroom
