#pragma once

// Counters that a GPU recorded, in one file: what CUPTI evaluates, and the values that it found there. A GPU
// writes such a file with
//
//   HEADROOM_RECORD_COUNTERS=tests/golden/counters-gh100.bin
//   headroom_tests --gtest_filter='CudaRanges.RecordsWhatOtherMachinesEvaluate'

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace headroom::testing {

inline constexpr const char* kRecordCounters = "HEADROOM_RECORD_COUNTERS";
inline constexpr std::size_t kMaxCounterFile = 200'000;

struct CounterFile {
  std::string chip;
  std::vector<std::string> metrics;
  std::vector<double> values;            // of the first range, by metric
  std::vector<std::uint8_t> image = {};  // of CUPTI
};

// A line of JSON, then the image.
inline void write_counter_file(const CounterFile& file, const std::filesystem::path& path) {
  const Json head = {
      {"chip", file.chip}, {"metrics", file.metrics}, {"values", file.values}, {"bytes", file.image.size()}};
  write_file(path, head.dump() + "\n" + std::string(file.image.begin(), file.image.end()));
}

inline CounterFile read_counter_file(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  const std::size_t end = text.find('\n');
  const Json head = Json::parse(text.substr(0, end), nullptr, false);
  if (end == text.npos || head.is_discarded() || head.value("bytes", std::size_t{0}) != text.size() - end - 1)
    fail("{} is not a file of counters, or it was cut", path.string());
  return {head.at("chip"), head.at("metrics"), head.at("values"),
          std::vector<std::uint8_t>(text.begin() + static_cast<std::ptrdiff_t>(end) + 1, text.end())};
}

}  // namespace headroom::testing
