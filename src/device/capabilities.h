#pragma once

#include <cstddef>
#include <string>

namespace headroom {

enum class DeviceKind { cpu, cuda };

// Facts about a device that kernels ask for. Plain data: a plan for an absent device needs only this.
struct Capabilities {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;
  int threads = 1;               // CPU: threads the executor will use
  int vector_bytes = 16;         // CPU: width of a SIMD register
  int compute_capability = 0;    // CUDA: 90 for sm_90
  int multiprocessors = 0;       // CUDA
  std::size_t memory_bytes = 0;  // 0: unknown
  bool cublaslt = true;          // CUDA: NVIDIA's matrix library can be loaded; set for an open device only
  bool cudnn = true;             // CUDA: the same for its convolutions
  bool bf16_products = false;    // CPU: instructions that multiply bf16
  bool bf16_tiles = false;       // CPU: AMX, which multiplies tiles of bf16
  std::string libraries;         // CUDA: "cuDNN 9.10.2, cuBLASLt 13.0.1"; set for an open device only
};

}  // namespace headroom
