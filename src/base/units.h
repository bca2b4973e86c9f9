#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace headroom {

std::string with_commas(std::int64_t value);     // 1,428,376,960
std::string si(double value, const char* unit);  // 12.3 GFLOP/s, 4.80 TB/s; decimal prefixes
std::string human_bytes(double bytes);           // 3.26 MB
std::string human_seconds(double seconds);       // 12.3 ms, 4 min 10 s
std::string fixed_or_small(double value);        // 12.35, 0.0123, 1.20e-05: no noise

// A time is a median with its spread and its number of samples.
struct Spread {
  double median = 0, p10 = 0, p90 = 0, min = 0, max = 0, mean = 0;
  std::int64_t samples = 0;
};
Spread spread_of(std::vector<double> samples);

}  // namespace headroom
