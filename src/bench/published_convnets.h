#pragma once

#include <span>
#include <string_view>

namespace headroom {

// Published times of the same networks: milliseconds per batch on a Titan X (Maxwell), convnet-benchmarks,
// 2015-2016.
struct PublishedTime {
  std::string_view model, library;
  double forward_ms, backward_ms;
  double total_ms;  // as printed: not always the sum of the rounded parts
};
std::span<const PublishedTime> published_times();

// Lines of a network's description and GPU routines observed, from a talk on profiling (2017).
struct PublishedCode {
  std::string_view model, library;
  int lines, routines;
};
std::span<const PublishedCode> published_code();

}  // namespace headroom
