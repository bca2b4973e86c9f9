#pragma once

#include <cstddef>
#include <string>

namespace headroom {

enum class DeviceKind { cpu, cuda };

// What a kernel may ask of a device. Plain data: a plan for a device that is not here needs only this.
struct Capabilities {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;
  int threads = 1;               // CPU: threads the executor will use
  int vector_bytes = 16;         // CPU: width of a SIMD register
  int compute_capability = 0;    // CUDA: 90 for sm_90
  std::size_t memory_bytes = 0;  // 0: not known
};

}  // namespace headroom
