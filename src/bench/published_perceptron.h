#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace headroom {

// Published training seconds of the perceptron course's cases.
struct PublishedTraining {
  std::string_view of;         // the case
  std::string_view precision;  // "fp32", "fp64"
  std::string_view device;     // device of the ranks: "cpu", "cuda"
  int ranks;
  double serial_s;  // one process on a CPU; 0: not given
  double seconds;
  char source;  // the letter of a PublishedSource
};
std::vector<PublishedTraining> published_trainings(std::string_view of, std::string_view precision,
                                                   std::string_view device, int ranks);

struct PublishedSource {
  char letter;
  std::string_view text;
};
std::span<const PublishedSource> published_sources();

}  // namespace headroom
