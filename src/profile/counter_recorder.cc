#include "profile/counter_recorder.h"

#include <algorithm>

#include "base/spans.h"

namespace headroom {

std::vector<double> cost_of_reading(std::size_t counters,
                                    const std::function<void(std::vector<double>&)>& read) {
  constexpr int kPairs = 64;
  std::vector<double> first(counters), second(counters), least(counters);
  for (int i = 0; i < kPairs; ++i) {
    read(first);
    read(second);
    for (std::size_t n = 0; n < counters; ++n) {
      const double cost = second[n] - first[n];
      least[n] = i == 0 ? cost : std::min(least[n], cost);
    }
  }
  return least;
}

CounterRecorder::CounterRecorder(const std::vector<std::string>& counters, std::size_t steps)
    : counting_(counters),
      before_(counting_.names().size() + 1),
      after_(before_.size()),
      own_(cost_of_reading(before_.size(), [this](std::vector<double>& totals) { read(totals); })),
      sums_(steps, std::vector<double>(before_.size())),
      runs_(steps) {}

void CounterRecorder::read(std::vector<double>& totals) {
  counting_.read(totals);
  totals.back() = 1e-9 * double(spans::now_ns());
}

void CounterRecorder::begin(std::size_t, Stream&) {
  if (open_) read(before_);
}

void CounterRecorder::end(std::size_t step, Stream& stream) {
  if (!open_) return;
  stream.synchronize();
  read(after_);
  ++runs_[step];
  for (std::size_t n = 0; n < after_.size(); ++n)
    sums_[step][n] += std::max(0.0, after_[n] - before_[n] - own_[n]);
}

void CounterRecorder::add_to(Measurement& measurement) const {
  std::vector<std::string> names = counting_.names();
  if (names.empty()) return;
  names.emplace_back(kTime);
  for (std::size_t s = 0; s < std::min(sums_.size(), measurement.steps.size()); ++s)
    for (std::size_t n = 0; n < names.size() && runs_[s] > 0; ++n)
      measurement.steps[s].counters[names[n]] = sums_[s][n] / double(runs_[s]);
}

}  // namespace headroom
