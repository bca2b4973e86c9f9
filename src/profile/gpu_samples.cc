#include "profile/gpu_samples.h"

#include <algorithm>
#include <cmath>

namespace headroom {
namespace {

using Intervals = std::vector<Trace::Interval>;

// Calls `take` with each sample's number and the time that it has in common with the set.
template <class Take>
void each_overlap(const std::vector<GpuSample>& samples, std::int64_t shift_ns, const Intervals& set,
                  Take&& take) {
  std::size_t first = 0;
  for (std::size_t s = 0; s < samples.size(); ++s) {
    const std::int64_t begin = samples[s].begin_ns + shift_ns, end = samples[s].end_ns + shift_ns;
    while (first < set.size() && set[first].end_ns <= begin) ++first;
    std::int64_t common = 0;
    for (std::size_t i = first; i < set.size() && set[i].begin_ns < end; ++i)
      common += std::min(end, set[i].end_ns) - std::max(begin, set[i].begin_ns);
    take(s, common);
  }
}

double length_of(const GpuSample& sample) { return double(sample.end_ns - sample.begin_ns); }

// Between 0 and 1: a kernel that fills the GPU should not weigh much more than a small one.
double busy_signal(const UnitUse& use, double max_sm) {
  constexpr double kHalf = 0.1;  // the part of the largest use that counts as half busy
  return max_sm > 0 ? use.sm / (use.sm + kHalf * max_sm) : 0;
}

// Of busy multiprocessors with running kernels.
double correlation_at(const std::vector<GpuSample>& samples, std::int64_t shift_ns, const IntervalSet& busy) {
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0, max_sm = 0;
  for (const GpuSample& sample : samples) max_sm = std::max(max_sm, sample.use.sm);
  each_overlap(samples, shift_ns, busy.list(), [&](std::size_t s, std::int64_t common) {
    const double a = busy_signal(samples[s].use, max_sm), b = double(common) / length_of(samples[s]);
    n += 1, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
  });
  const double variances = (n * xx - x * x) * (n * yy - y * y);
  return variances > 0 ? (n * xy - x * y) / std::sqrt(variances) : 0;
}

ClockShift best_shift(const std::vector<GpuSample>& samples, const IntervalSet& busy, std::int64_t from,
                      std::int64_t to, std::int64_t by) {
  ClockShift best{from, -2};
  for (std::int64_t shift = from; shift <= to; shift += std::max<std::int64_t>(1, by))
    if (const double c = correlation_at(samples, shift, busy); c > best.correlation) best = {shift, c};
  return best;
}

// Several samples as one.
std::vector<GpuSample> joined(const std::vector<GpuSample>& samples, std::size_t each) {
  std::vector<GpuSample> all;
  for (std::size_t s = 0; s < samples.size(); s += each) {
    const std::size_t end = std::min(samples.size(), s + each);
    GpuSample one{{samples[s].begin_ns, samples[end - 1].end_ns}, {}};
    for (std::size_t i = s; i < end; ++i) one.use.add(samples[i].use, 1.0 / double(end - s));
    all.push_back(one);
  }
  return all;
}

// The use of a set of instants: of all samples by the time in common.
LayerUse use_during(const std::vector<GpuSample>& samples, std::int64_t shift_ns, const IntervalSet& set) {
  LayerUse use;
  each_overlap(samples, shift_ns, set.list(), [&](std::size_t s, std::int64_t common) {
    use.seconds += 1e-9 * double(common);
    use.mean.add(samples[s].use, 1e-9 * double(common));
  });
  if (use.seconds > 0) {
    UnitUse mean;
    mean.add(use.mean, 1 / use.seconds);
    use.mean = mean;
  }
  return use;
}

}  // namespace

void UnitUse::add(const UnitUse& other, double weight) {
  sm += weight * other.sm, tensor += weight * other.tensor;
  l2 += weight * other.l2, dram += weight * other.dram;
  dram_bytes_per_s += weight * other.dram_bytes_per_s;
}

// The bursts of work are found first, with several samples as one; then the single kernels.
ClockShift align_samples(const std::vector<GpuSample>& samples, const IntervalSet& busy) {
  if (samples.empty() || busy.empty()) return {};
  constexpr std::size_t kCoarse = 250;
  const std::size_t each = std::max<std::size_t>(1, samples.size() / kCoarse);
  const std::int64_t span = samples.back().end_ns - samples.front().begin_ns;
  const std::int64_t interval = span / std::ssize(samples);
  const std::int64_t coarse_interval = interval * static_cast<std::int64_t>(each);
  const std::vector<GpuSample> coarse = joined(samples, each);
  const ClockShift rough =
      best_shift(coarse, busy, busy.list().front().begin_ns - samples.back().end_ns,
                 busy.list().back().end_ns - samples.front().begin_ns, coarse_interval / 2);
  const ClockShift near =
      best_shift(samples, busy, rough.ns - 2 * coarse_interval, rough.ns + 2 * coarse_interval, interval / 4);
  return best_shift(samples, busy, near.ns - interval / 4, near.ns + interval / 4, interval / 32);
}

SampledUse assign_samples(const std::vector<GpuSample>& samples, const std::vector<LayerKernel>& kernels,
                          const std::vector<Trace::Interval>& runs, std::int64_t shift_ns, int layers) {
  const IntervalSet window{Intervals(runs)}, busy = IntervalSet(kernels) & window;
  std::vector<Intervals> of_layer(static_cast<std::size_t>(layers) + 1);  // the last: of none
  for (const LayerKernel& k : kernels)
    of_layer[static_cast<std::size_t>(k.layer < 0 ? layers : k.layer)].push_back(k);
  std::vector<IntervalSet> sets;
  std::vector<int> touched(samples.size());  // by how many layers
  for (Intervals& list : of_layer) {
    sets.push_back(IntervalSet(std::move(list)) & window);
    each_overlap(samples, shift_ns, sets.back().list(),
                 [&](std::size_t s, std::int64_t common) { touched[s] += common > 0 ? 1 : 0; });
  }
  SampledUse result;
  for (const IntervalSet& set : sets) {
    LayerUse use = use_during(samples, shift_ns, set);
    each_overlap(samples, shift_ns, set.list(), [&](std::size_t s, std::int64_t common) {
      constexpr double kFilled = 0.99;
      if (touched[s] == 1 && double(common) >= kFilled * length_of(samples[s]))
        use.alone_s += 1e-9 * double(common);
    });
    result.layers.push_back(use);
  }
  result.no_layer = result.layers.back();
  result.layers.pop_back();
  result.idle = use_during(samples, shift_ns, window - busy);
  result.all = use_during(samples, shift_ns, window);
  return result;
}

std::vector<RunPoint> fold_samples(const std::vector<GpuSample>& samples,
                                   const std::vector<Trace::Interval>& runs, std::int64_t shift_ns,
                                   std::size_t count) {
  double mean_s = 0;
  for (const Trace::Interval& run : runs) mean_s += run.seconds() / double(runs.size());
  std::vector<RunPoint> points;
  for (std::size_t p = 0; p < count && mean_s > 0; ++p) {
    const auto at = [&](std::size_t point) { return double(point) / double(count); };
    Intervals parts;
    for (const Trace::Interval& run : runs) {
      const auto instant = [&](double part) {
        return run.begin_ns + std::llround(part * double(run.end_ns - run.begin_ns));
      };
      parts.push_back({instant(at(p)), instant(at(p + 1))});
    }
    const LayerUse use = use_during(samples, shift_ns, IntervalSet(std::move(parts)));
    if (use.seconds > 0) points.push_back({mean_s * at(p), mean_s * at(p + 1), use.mean});
  }
  return points;
}

}  // namespace headroom
