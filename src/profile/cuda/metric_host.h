#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace headroom {

// How metrics are read: over ranges of launches, or over time. Each has its own list.
enum class MetricUse { ranges, sampling };

// What CUPTI knows about the metrics of a chip. Needs no GPU. Throws without CUPTI; rejects chips that CUPTI
// does not know.
class MetricHost {
 public:
  // `availability`: what the driver of a GPU lets its user count; empty: everything the chip has.
  explicit MetricHost(std::string chip, std::vector<std::uint8_t> availability = {},
                      MetricUse use = MetricUse::ranges);
  ~MetricHost();
  MetricHost(const MetricHost&) = delete;
  MetricHost& operator=(const MetricHost&) = delete;

  const std::string& chip() const { return chip_; }
  // Number of runs that these metrics take together; 0: the chip lacks one of them.
  int runs_of(const std::vector<std::string>& metrics) const;
  std::vector<std::string> metrics() const;  // all that are counters, without ".sum"

  std::vector<std::uint8_t> config_image(const std::vector<std::string>& metrics) const;
  // Values of a range in the image that a GPU filled.
  std::vector<double> values(std::span<const std::uint8_t> image, std::size_t range,
                             const std::vector<std::string>& metrics) const;

 private:
  std::string chip_;
  std::vector<std::uint8_t> availability_;
  MetricUse use_ = MetricUse::ranges;
  void* evaluator_ = nullptr;
  mutable std::map<std::vector<std::string>, int> runs_;  // asked before
};

std::vector<std::string> cupti_chips();

}  // namespace headroom
