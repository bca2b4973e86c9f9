#pragma once

#include "bench/ladder.h"
#include "ops/conv2d/conv2d.h"

namespace headroom {

// A convolution as a linear function of independent lines: images, or for the gradient of the weights maps of
// dy. Line i of the result depends on line i of the input alone.
class Conv2dLines {
 public:
  Conv2dLines(const Problem& problem, const std::vector<HostTensor>& inputs);

  // Sums of neighbouring lines with signs. With groups, each group of maps has runs of its own, equally many.
  struct Run {
    std::int64_t first, count;
  };
  std::vector<Run> runs(std::int64_t width) const;
  std::vector<Run> some_lines(std::int64_t count) const;  // single ones, spread over each group

  std::int64_t lines() const { return groups_ * per_group_; }
  std::int64_t length() const { return length_; }  // elements of a line of the result
  double line_flops() const { return flops_ / double(lines()); }
  // Products and sums for one element of the result, at the most.
  double terms() const { return terms_; }
  std::string name(std::int64_t line, std::int64_t element) const;  // "image 3: map 0, row 1, column 2"
  std::string_view line_word() const { return by_maps_ ? "maps" : "images"; }
  double sign(std::int64_t line) const { return signs_[static_cast<std::size_t>(line)]; }

  // For each run the result of its sum of lines, in fp64, one after the other.
  std::vector<double> results(const std::vector<Run>& runs) const;

 private:
  void add_line(std::int64_t line, std::int64_t first_image, std::int64_t images, double* to) const;
  std::vector<double> results_by_images(const std::vector<Run>& runs) const;
  std::vector<double> results_by_maps(const std::vector<Run>& runs) const;

  Problem problem_;
  Conv2d conv_;
  const std::vector<HostTensor>& inputs_;
  bool by_maps_;
  std::int64_t groups_, per_group_, length_;
  double flops_, terms_;
  std::vector<double> signs_;
};

}  // namespace headroom
