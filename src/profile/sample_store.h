#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace headroom {

// A reading that failed, or a rate that has no interval yet.
inline constexpr double kNotRead = std::numeric_limits<double>::quiet_NaN();

// What one series of readings is.
struct SeriesInfo {
  std::string key;       // in CSV and JSON, ends with the unit: "gpu0_power_w"
  std::string name;      // printed: "GPU 0 power"
  std::string unit;      // "W"
  double limit = 0;      // the highest possible value, 100 for shares; 0: there is none
  bool counter = false;  // only grows: the difference counts, not the mean
  bool per_core = false;
  bool charted = false;  // drawn unless the user chooses others
};

// Every reading counts here, also after the values were thinned.
struct SeriesSummary {
  double mean = 0;  // weighted by time: a reading stands for the interval before it
  double min = 0, max = 0, first = 0, last = 0;
  std::int64_t readings = 0;  // without those that failed
};

struct Series {
  SeriesInfo info;
  std::vector<double> values;  // one per time; kNotRead where nothing was read
  SeriesSummary summary;
};

struct Samples {
  std::vector<double> seconds;  // since the start; a value stands for the time since the one before it
  std::vector<Series> series;
  std::int64_t taken = 0;           // may be more than `seconds` holds
  double interval_s = 0;            // asked for
  double cost_s = 0;                // spent on reading
  std::vector<std::string> absent;  // what could not be read at all, and why
};

// Collects readings in memory that is allocated once. When it is full, two neighbours become one (their mean,
// or the later one of counters), and from then on twice as many readings share a place.
class SampleStore {
 public:
  SampleStore(std::vector<SeriesInfo> series, std::size_t max_rows);

  void add(double seconds, std::span<const double> values);  // one value per series
  Samples take();                                            // what was collected; leaves the store empty

 private:
  struct Sum {
    double total = 0;
    int count = 0;
    void add(double value);
    double mean() const { return count > 0 ? total / count : kNotRead; }
  };
  void summarize(std::size_t series, double value, double duration);
  void close_row(double seconds);
  void halve();
  double merged(std::size_t series, double earlier, double later) const;

  std::vector<SeriesInfo> info_;
  std::size_t max_rows_;
  std::vector<double> seconds_, values_;  // values_: rows of all series
  std::vector<Sum> row_;                  // the row that is being filled
  std::int64_t in_row_ = 0, per_row_ = 1, taken_ = 0;
  double last_ = 0;
  std::vector<SeriesSummary> summaries_;
  std::vector<double> durations_;  // of the readings behind each mean
};

}  // namespace headroom
