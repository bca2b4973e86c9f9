#pragma once

#include <cstddef>

#include "device/cuda/cuda_device.h"

namespace headroom {

// Memory that host and GPU both address; the driver moves its pages to whoever touches them. Freed with the
// object. The driver would grant more than the card has free, and then move pages for ever: the constructor
// rejects that before it allocates.
class ManagedMemory {
 public:
  ManagedMemory(CudaDevice& device, std::size_t bytes);
  ~ManagedMemory();
  ManagedMemory(const ManagedMemory&) = delete;
  ManagedMemory& operator=(const ManagedMemory&) = delete;

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

  // Queued on the device's stream.
  void prefetch_to_device();
  void prefetch_to_host();

 private:
  CudaDevice& device_;
  std::size_t bytes_;
  void* data_ = nullptr;
};

// Why this device cannot use managed memory, or prefetch it; empty: it can.
const char* why_no_managed(const CudaDevice& device);
const char* why_no_prefetch(const CudaDevice& device);

}  // namespace headroom
