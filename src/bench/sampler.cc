#include "bench/sampler.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace headroom {
namespace {

using WallClock = std::chrono::steady_clock;

constexpr int kMaxRepeats = 100'000;
constexpr double kDeviationsPerMad = 1.4826;  // of a normal distribution: standard deviation / MAD

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

// Standard deviation, estimated so that a few extreme samples do not change it.
double deviation_of(const std::vector<double>& values, double median) {
  std::vector<double> distances;
  for (double v : values) distances.push_back(std::abs(v - median));
  return kDeviationsPerMad * median_of(std::move(distances));
}

// One body and its samples so far: seconds of one run, in all and by part.
class Series {
 public:
  Series(const TimedBody& body, const SamplerOptions& options) : body_(body), options_(options) {
    for (int i = 0; i < options.warm_ups; ++i) body_(1);
    if (options.repeats > 0) {
      repeats_ = options.repeats;
    } else if (options.min_sample_seconds > 0) {
      const double once = std::min(body_(1).front(), body_(1).front());
      repeats_ = static_cast<int>(std::clamp(options.min_sample_seconds / once, 1.0, double(kMaxRepeats)));
    }
  }

  // Returns the seconds it took.
  double take() {
    std::vector<double> seconds = body_(repeats_);
    const double all = seconds.front();
    for (double& s : seconds) s /= repeats_;
    readings_.resize(seconds.size());
    for (std::size_t i = 0; i < seconds.size(); ++i) readings_[i].push_back(seconds[i]);
    return all;
  }

  std::vector<double> kept(std::size_t reading = 0) const {
    const std::vector<bool> drop = disturbed(readings_[0]);
    std::vector<double> list;
    for (std::size_t i = 0; i < drop.size() && std::ssize(list) < options_.max_samples; ++i)
      if (!drop[i]) list.push_back(readings_[reading][i]);
    return list;
  }

  Sampled result() const {
    const std::vector<double> samples = kept();
    const std::vector<bool> drop = disturbed(readings_[0]);
    const double bound = options_.noise > 0 ? options_.noise : kSettledNoise;
    Sampled sampled{spread_of(samples),
                    static_cast<int>(std::ranges::count(drop, true)),
                    repeats_,
                    noise_of_median(samples) <= bound,
                    {},
                    samples};
    for (std::size_t part = 1; part < readings_.size(); ++part)
      sampled.parts.push_back(spread_of(kept(part)));
    return sampled;
  }

 private:
  const TimedBody& body_;
  const SamplerOptions& options_;
  int repeats_ = 1;
  std::vector<std::vector<double>> readings_;
};

bool enough(const std::vector<Series>& all, const SamplerOptions& options, double seconds) {
  std::int64_t fewest = options.max_samples;
  double noise = 0;
  for (const Series& series : all) {
    const std::vector<double> kept = series.kept();
    fewest = std::min<std::int64_t>(fewest, std::ssize(kept));
    noise = std::max(noise, noise_of_median(kept));
  }
  if (fewest < options.min_samples) return false;
  return fewest >= options.max_samples || seconds >= options.max_seconds ||
         (options.noise > 0 && noise <= options.noise);
}

}  // namespace

std::vector<bool> disturbed(const std::vector<double>& samples) {
  if (samples.empty()) return {};
  const double median = median_of(samples);
  const double bound = std::max(1.5 * median, median + 3 * deviation_of(samples, median));
  std::vector<bool> list;
  for (double s : samples) list.push_back(s > bound);
  return list;
}

double noise_of_median(const std::vector<double>& samples) {
  if (samples.size() < 2) return std::numeric_limits<double>::infinity();
  constexpr double kMedianOverMean =
      1.2533;  // standard error of a median over that of a mean, normal distribution
  const double median = median_of(samples), deviation = deviation_of(samples, median);
  if (deviation == 0) return 0;
  return kMedianOverMean * deviation / std::sqrt(double(samples.size())) / median;
}

TimedBody timed_on(Device& device, std::function<void()> body) {
  return [&device, body = std::move(body)](int repeats) -> std::vector<double> {
    device.stream().synchronize();
    const auto start = WallClock::now();
    for (int i = 0; i < repeats; ++i) body();
    device.stream().synchronize();
    return {std::chrono::duration<double>(WallClock::now() - start).count()};
  };
}

std::vector<Sampled> sample_in_turn(const SamplerOptions& options, const std::vector<TimedBody>& bodies) {
  std::vector<Series> all;
  for (const TimedBody& body : bodies) all.emplace_back(body, options);
  double seconds = 0;
  int next_check = options.min_samples;  // less often as samples grow in number: a check reads all of them
  for (int round = 1;; ++round) {
    if (options.progress) options.progress(round);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool reverse = options.alternate && round % 2 == 0;
      seconds += all[reverse ? all.size() - 1 - i : i].take();
    }
    if (round < next_check && seconds < options.max_seconds) continue;
    if (enough(all, options, seconds)) break;
    next_check = round + std::max(1, (round - options.min_samples) / 8);
  }
  std::vector<Sampled> results;
  for (const Series& series : all) results.push_back(series.result());
  return results;
}

Sampled sample(Device& device, const SamplerOptions& options, std::function<void()> body) {
  return sample_in_turn(options, {timed_on(device, std::move(body))}).front();
}

}  // namespace headroom
