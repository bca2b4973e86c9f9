#pragma once

#include <cstddef>
#include <string>

namespace headroom {

enum class DeviceKind { cpu, cuda };

class Device;
class Groups;

// What a kernel may ask of a device. Plain data: a plan for a device that is not here needs only this.
struct Capabilities {
  DeviceKind kind = DeviceKind::cpu;
  std::string name;
  int threads = 1;               // CPU: threads the executor will use
  int vector_bytes = 16;         // CPU: width of a SIMD register
  int compute_capability = 0;    // CUDA: 90 for sm_90
  int multiprocessors = 0;       // CUDA
  std::size_t memory_bytes = 0;  // 0: not known
  bool cublaslt = true;          // CUDA: NVIDIA's matrix library can be loaded; known of an open device only
  bool cudnn = true;             // CUDA: likewise its convolutions
  // What the user allows, beside what the device can do.
  bool tf32 = false;           // fp32 products may round their factors to 11 bits
  bool deterministic = false;  // the same bits every run: no choice by timing, no atomic sums
  // Of a plan that runs with other ranks: who they are, and the device whose memory is exchanged. Null:
  // alone.
  Groups* groups = nullptr;
  Device* device = nullptr;
};

}  // namespace headroom
