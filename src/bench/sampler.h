#pragma once

#include <functional>
#include <limits>
#include <vector>

#include "base/units.h"
#include "device/device.h"

namespace headroom {

// When to stop, and how long one sample is. For a fixed number of samples set min_samples = max_samples.
struct SamplerOptions {
  int warm_ups = 2;  // runs before the first sample: they load code, fill caches and capture graphs
  int min_samples = 5, max_samples = 100;
  // Sampling stops after this many timed seconds, if there are min_samples by then.
  double max_seconds = std::numeric_limits<double>::infinity();
  // A short body runs several times in one sample, until the sample takes this long. The clock and the wait
  // for the device cost microseconds, which would otherwise be part of the result.
  double min_sample_seconds = 0;
  int repeats = 0;  // > 0: runs in one sample, whatever they take
  // Sampling stops when the standard error of every median is at most this fraction of it. 0: it does not.
  double noise = 0;
  // Every second round runs the bodies in reverse order, so that each is first equally often.
  bool alternate = false;
  std::function<void(int round)> progress;  // called before each round; may be empty
};

// Noise of a median that counts as settled if the options set no bound of their own.
inline constexpr double kSettledNoise = 0.02;

// The samples of one body, without those the machine disturbed.
struct Sampled : Spread {
  int dropped = 0;            // disturbed samples; they are not in the spread
  int repeats = 1;            // runs in one sample
  bool settled = false;       // the noise of the median is within its bound
  std::vector<Spread> parts;  // see TimedBody
  std::vector<double> kept;   // the samples behind the spread, in order
};

// Runs something `repeats` times. Returns the seconds of all these runs together, and after them the seconds
// of the parts that the caller wants to know as well. A part is dropped with its sample.
using TimedBody = std::function<std::vector<double>(int repeats)>;

// Times a body from an idle device to an idle device.
TimedBody timed_on(Device& device, std::function<void()> body);

// Samples every body once per round, so that a slow phase of the machine affects all of them alike.
std::vector<Sampled> sample_in_turn(const SamplerOptions& options, const std::vector<TimedBody>& bodies);

Sampled sample(Device& device, const SamplerOptions& options, std::function<void()> body);

// The rules, for tests and for samples from elsewhere.
// Disturbed: above 1.5 times the median and more than 3 standard deviations away, estimated by the median
// absolute deviation. At least half of the samples are never disturbed.
std::vector<bool> disturbed(const std::vector<double>& samples);
// Standard error of the median as a fraction of it; infinite for fewer than two samples.
double noise_of_median(const std::vector<double>& samples);

}  // namespace headroom
