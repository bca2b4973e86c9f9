#pragma once

#include <cstdint>
#include <string>

#include "headroom/net.h"

namespace headroom {

// A network drawn at random, for the sake of its steps: their times tell what a machine's kernels cost.
struct Probe {
  Net net;
  double size = 1;          // 0 to 1: small ones show what starting a step costs
  bool round_batch = true;  // a multiple of 16, as people choose it
  std::int64_t batch = 0;   // 0: by size
};

// The probe of a number, always the same: perceptrons, convolutions of all kinds, residual and parallel
// branches, depthwise layers and attention, in turn.
Probe draw_probe(std::uint64_t number);
// Perceptrons and convolutions of some microseconds an image, and networks as above with one or a few images.
Probe draw_small_probe(std::uint64_t number);

// Convolutions and linear layers wide enough for the tensor cores of a GPU.
Probe draw_wide_probe(std::uint64_t number);

}  // namespace headroom
