#pragma once

namespace headroom::cuda {

// Shared memory that one block may have, by compute capability.
constexpr int shared_limit(int capability) {
  if (capability == 80 || capability == 87) return 163 * 1024;
  if (capability == 90 || capability == 100 || capability == 103) return 227 * 1024;
  return 99 * 1024;
}

}  // namespace headroom::cuda
