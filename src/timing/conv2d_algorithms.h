#pragma once

#include <string>
#include <vector>

#include "timing/conv2d_call.h"

namespace headroom {

// One way to compute a convolution: the blocks it launches, the work of a block and the bytes it moves. None
// of it depends on the machine, so that rival algorithms can be listed without one.
struct Conv2dAlgorithm {
  enum class Kind { kImplicitGemm, kGemm, kFusedWinograd, kUnfusedWinograd, kFft, kDirect, kDepthwise };

  Kind kind = Kind::kImplicitGemm;
  bool folded = false;  // a stride is folded into channels first
  std::string tile;     // "128x64"
  double blocks = 1;
  double block_flops = 0;      // of one block, padding of the tile included
  double block_loads = 0;      // bytes that one block asks for
  double tile_edges = 0;       // 64 / rows + 64 / columns of the tile
  double steps = 0;            // of the reduction that a block passes one after another, by 8
  double bytes = 0;            // read and written by the main kernel, each once
  double split_bytes = 0;      // partial sums, written and read
  double transform_bytes = 0;  // moved by kernels before and after the main one
};

const char* algorithm_name(Conv2dAlgorithm::Kind kind);

// Every algorithm and tile that suits the call; at least one. `early`: libraries for devices before compute
// capability 7.0 have fused Winograd blocks that span several images.
std::vector<Conv2dAlgorithm> conv2d_algorithms(const Conv2dCall& call, bool early);

}  // namespace headroom
