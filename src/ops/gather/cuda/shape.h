#pragma once

// Gathers as kernels on the GPU take them: plain data, for C++ and CUDA sources alike.

#include <cstdint>

namespace headroom::cuda {

// data is [outer, extent, inner], the result [outer, count, inner].
struct GatherShape {
  std::int64_t outer = 1, extent = 1, inner = 1, count = 1;
  bool wide_indices = false;  // int64, else int32
};

}  // namespace headroom::cuda
