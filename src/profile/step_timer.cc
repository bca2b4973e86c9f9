#include "profile/step_timer.h"

#include <omp.h>

#include "base/units.h"

namespace headroom {

StepTimer::StepTimer(Device& device, std::size_t steps, std::size_t runs)
    : source_(device.kind() == DeviceKind::cpu ? Measurement::Source::wall_clock
                                               : Measurement::Source::events),
      marks_(steps),
      samples_(steps),
      oldest_(steps),
      runs_(runs) {
  for (Marks& marks : marks_) marks.begin = device.make_event(), marks.end = device.make_event();
  for (auto& list : samples_) list.reserve(runs);
}

void StepTimer::begin(std::size_t step, Stream& stream) {
  if (marks_[step].open) collect(step);
  marks_[step].begin->record(stream);
}

void StepTimer::end(std::size_t step, Stream& stream) {
  marks_[step].end->record(stream);
  marks_[step].open = true;
}

void StepTimer::collect(std::size_t step) {
  Marks& marks = marks_[step];
  marks.end->synchronize();
  marks.open = false;
  const double seconds = marks.end->seconds_since(*marks.begin);
  auto& list = samples_[step];
  if (list.size() < runs_) {
    list.push_back(seconds);
  } else if (runs_ > 0) {
    list[oldest_[step]] = seconds;
    oldest_[step] = (oldest_[step] + 1) % runs_;
  }
}

const std::vector<double>& StepTimer::samples(std::size_t step) {
  if (marks_[step].open) collect(step);
  return samples_[step];
}

Measurement StepTimer::measurement() {
  Measurement all{.source = source_, .steps = {}};
  for (std::size_t s = 0; s < steps(); ++s) all.steps.push_back({.seconds = samples(s)});
  return all;
}

double timer_overhead_seconds() {
  constexpr std::size_t kRuns = 1000;
  const int threads = omp_get_max_threads();
  const auto cpu = open_device("cpu", 1);  // which sets the number of threads
  omp_set_num_threads(threads);
  StepTimer timer(*cpu, 1, kRuns);
  for (std::size_t i = 0; i < kRuns; ++i) {
    timer.begin(0, cpu->stream());
    timer.end(0, cpu->stream());
  }
  return spread_of(timer.samples(0)).median;
}

}  // namespace headroom
