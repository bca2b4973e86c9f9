#pragma once

#include <cstdint>
#include <string>

#include "headroom/net.h"

namespace headroom {

// A network drawn at random, for the sake of its steps: their times tell what a machine's kernels cost.
struct Probe {
  Net net;
  double share = 1;  // of the usual work of a probe: small ones show what starting a step costs
};

// The probe of a number, always the same: perceptrons, convolutions of all kinds, residual and parallel
// branches, depthwise layers and attention, in turn.
Probe draw_probe(std::uint64_t number);

}  // namespace headroom
