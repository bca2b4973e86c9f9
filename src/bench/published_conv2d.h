#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "bench/conv2d_ladder.h"
#include "bench/published_perceptron.h"

namespace headroom {

// Published times of the two convolutions of the course's network of fall 2018, on a Volta GPU (the CPU's row
// aside). 0: not published apart.
struct PublishedConv2d {
  std::string_view who, what;
  int images;
  double conv1_ms, conv2_ms, sum_ms;
  std::string_view rung;  // ours that does the same; empty: none
};
std::span<const PublishedConv2d> published_conv2d();
// Those of one layer, by the rung that does the same; empty for other layers and numbers of images.
std::vector<PublishedRung> published_conv2d_rungs(const Conv2dSize& size);
std::span<const PublishedSource> published_conv2d_sources();

// Of the layers L1 to L5 of the convnet benchmarks, batch 128, on a Titan X (Maxwell).
struct PublishedLayer {
  std::string_view layer, library;
  double forward_ms, backward_ms;  // backward: both gradients
};
std::span<const PublishedLayer> published_layers();

}  // namespace headroom
