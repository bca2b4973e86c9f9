#pragma once

#include <cstdint>

namespace headroom::cuda {

// Class numbers, int32 or int64.
struct Labels {
  const void* at;
  bool wide;
  __device__ std::int64_t operator[](std::int64_t row) const {
    return wide ? static_cast<const std::int64_t*>(at)[row] : static_cast<const std::int32_t*>(at)[row];
  }
};

}  // namespace headroom::cuda
