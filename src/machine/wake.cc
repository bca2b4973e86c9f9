#include "machine/wake.h"

#include <bit>
#include <chrono>
#include <thread>
#include <utility>

#include "base/units.h"
#include "device/cpu/team.h"
#include "machine/timing.h"

namespace headroom {

namespace {

Spread wakes(int threads, double seconds) {
  std::vector<double> samples;
  const double until = now_s() + seconds;
  int awake = 0;
  do {
    const double begin = now_s();
    run_team(threads, [&](int thread) {
      if (thread == 0) ++awake;
    });
    samples.push_back(now_s() - begin);
  } while (samples.size() < 50 || (now_s() < until && samples.size() < 100000));
  return spread_of(std::move(samples));
}

}  // namespace

// While other programs run, half of the samples can be a hundred times as long as those of the team alone.
double wake_seconds(int threads, double seconds) { return wakes(threads, seconds).p10; }

std::vector<double> team_wake_seconds(int most, double seconds) {
  // OpenMP's threads poll for some milliseconds after a region.
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  std::vector<double> costs;
  const double each = seconds / std::bit_width(static_cast<unsigned>(most));
  for (int threads = 2; threads <= most; threads *= 2) costs.push_back(wakes(threads, each).p10);
  return costs;
}

}  // namespace headroom
