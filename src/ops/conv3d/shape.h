#pragma once

#include "ops/window3d.h"

namespace headroom {

// One convolution over volumes, whichever of its three products is computed.
struct Conv3d {
  std::int64_t batch = 1, channels = 1, maps = 1, groups = 1;
  Window3d window;
  bool bias = false;

  HEADROOM_HOST_DEVICE std::int64_t group_channels() const { return channels / groups; }
  HEADROOM_HOST_DEVICE std::int64_t group_maps() const { return maps / groups; }
  HEADROOM_HOST_DEVICE std::int64_t depth() const { return group_channels() * window.taps(); }
  HEADROOM_HOST_DEVICE std::int64_t weights() const { return maps * depth(); }
};

}  // namespace headroom
