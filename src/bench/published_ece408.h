#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// A published result of the convolution course's networks. 0, or an empty text: not given.
struct PublishedEce408 {
  std::string_view term;  // "2018fa"
  std::int64_t images;
  std::string_view device;       // "cpu", "cuda"
  std::string_view convolution;  // "library": the framework's; "own": the student's
  std::string_view who;
  double conv1_ms = 0, conv2_ms = 0, sum_ms = 0;  // op times
  double accuracy = 0;                            // with the course's weights
  double program_s = 0;                           // the whole program, elapsed
};

// The rows of a term and a number of images.
std::vector<PublishedEce408> published_ece408(std::string_view term, std::int64_t images);

// The term of "ece408:term=2019sp"; empty for other networks, and for one with other classes.
std::string ece408_term(std::string_view model);

}  // namespace headroom
