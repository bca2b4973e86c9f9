#pragma once

#include <map>
#include <numeric>
#include <string>
#include <vector>

#include "base/units.h"

namespace headroom {

// The reading that needs hardware, the counterpart of Prediction: the time of each step of a plan. Plain data
// without a device: results hold it, run records store it.
struct Measurement {
  enum class Source { wall_clock, events, kernel_trace };  // the clock used

  // One kernel that the device ran for a step; seconds since the first kernel of its run.
  struct Launch {
    std::string name;
    double begin_s = 0, end_s = 0;
    int stream = 0;
    bool operator==(const Launch&) const = default;
  };

  struct Step {
    std::vector<double> seconds;                  // one sample per timed run
    std::vector<Launch> launches = {};            // of one run; only a kernel trace has them
    std::map<std::string, double> counters = {};  // hardware counters of one run, by name
    Spread spread() const { return spread_of(seconds); }
    double mean() const {  // means add up, medians do not
      return seconds.empty() ? 0
                             : std::accumulate(seconds.begin(), seconds.end(), 0.0) / double(seconds.size());
    }
    bool operator==(const Step&) const = default;
  };

  Source source = Source::wall_clock;
  bool captured = false;           // measured within one captured launch, not step by step
  std::vector<Step> steps;         // by step of the plan
  std::vector<double> run_s = {};  // whole runs, as they really ran

  bool empty() const { return steps.empty(); }
  double median_s(std::size_t step) const { return steps.empty() ? 0 : steps[step].spread().median; }
  bool operator==(const Measurement&) const = default;
};

std::string_view name_of(Measurement::Source source);                 // "wall clock", "events", …
Measurement::Source parse_measurement_source(std::string_view name);  // rejects other names

}  // namespace headroom
