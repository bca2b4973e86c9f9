#include "profile/sample_store.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headroom {

SampleStore::SampleStore(std::vector<SeriesInfo> series, std::size_t max_rows)
    : info_(std::move(series)), max_rows_(std::max<std::size_t>(2, max_rows / 2 * 2)) {
  seconds_.reserve(max_rows_);
  values_.reserve(max_rows_ * info_.size());
  row_.resize(info_.size());
  summaries_.resize(info_.size());
  durations_.resize(info_.size());
}

void SampleStore::Sum::add(double value) {
  if (std::isnan(value)) return;
  total += value;
  ++count;
}

void SampleStore::add(double seconds, std::span<const double> values) {
  const double duration = taken_ > 0 ? seconds - last_ : 0;
  for (std::size_t i = 0; i < info_.size(); ++i) {
    summarize(i, values[i], duration);
    if (info_[i].counter && !std::isnan(values[i])) row_[i] = {};
    row_[i].add(values[i]);
  }
  last_ = seconds;
  ++taken_;
  if (++in_row_ == per_row_) close_row(seconds);
}

void SampleStore::summarize(std::size_t series, double value, double duration) {
  if (std::isnan(value)) return;
  SeriesSummary& s = summaries_[series];
  if (s.readings++ == 0) {
    s = {.mean = value, .min = value, .max = value, .first = value, .last = value, .readings = 1};
    durations_[series] = duration;
    return;
  }
  s.min = std::min(s.min, value);
  s.max = std::max(s.max, value);
  s.last = value;
  durations_[series] += duration;
  if (durations_[series] > 0) s.mean += (value - s.mean) * duration / durations_[series];
}

void SampleStore::close_row(double seconds) {
  seconds_.push_back(seconds);
  for (Sum& sum : row_) values_.push_back(std::exchange(sum, {}).mean());
  in_row_ = 0;
  if (seconds_.size() == max_rows_) halve();
}

double SampleStore::merged(std::size_t series, double earlier, double later) const {
  if (std::isnan(later)) return earlier;
  if (std::isnan(earlier) || info_[series].counter) return later;
  return (earlier + later) / 2;
}

void SampleStore::halve() {
  const std::size_t columns = info_.size(), rows = max_rows_ / 2;
  for (std::size_t row = 0; row < rows; ++row) {
    seconds_[row] = seconds_[2 * row + 1];
    for (std::size_t i = 0; i < columns; ++i)
      values_[row * columns + i] =
          merged(i, values_[2 * row * columns + i], values_[(2 * row + 1) * columns + i]);
  }
  seconds_.resize(rows);
  values_.resize(rows * columns);
  per_row_ *= 2;
}

Samples SampleStore::take() {
  if (in_row_ > 0) close_row(last_);
  Samples samples{.seconds = std::move(seconds_), .taken = taken_};
  for (std::size_t i = 0; i < info_.size(); ++i) {
    Series series{info_[i], {}, summaries_[i]};
    series.values.reserve(samples.seconds.size());
    for (std::size_t row = 0; row < samples.seconds.size(); ++row)
      series.values.push_back(values_[row * info_.size() + i]);
    samples.series.push_back(std::move(series));
  }
  *this = SampleStore(std::move(info_), max_rows_);
  return samples;
}

}  // namespace headroom
