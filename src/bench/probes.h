#pragma once

#include <cstdint>
#include <string>
#include <vector>

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

// One or two layers of the sizes that networks have: convolutions of 1x1 to 11x11, strided, grouped and
// depthwise, of 1 to 2,048 channels and 7 to 224 pixels, products of up to some thousands each way, with the
// pools, norms and sums around them; and networks for small pictures. They are quick to build, and any few of
// them in a row spread over all sizes.
inline constexpr std::uint64_t kLayerKinds = 13;
Probe draw_layer_probe(std::uint64_t number);

// Which probe comes next, so that each kind has its share of the time: on a GPU most of it is for layers.
class ProbeTurns {
 public:
  explicit ProbeTurns(bool on_gpu);
  struct Turn {
    Probe probe;
    std::uint64_t number = 0;  // of its kind
  };
  Turn next();
  void took(double seconds);  // the probe of the last turn

 private:
  struct Kind {
    Probe (*draw)(std::uint64_t) = nullptr;
    double share = 0, seconds = 0;
    std::uint64_t next = 0;
  };
  std::vector<Kind> kinds_;
  std::size_t last_ = 0;
};

}  // namespace headroom
