#pragma once

// Buffers of a GPU, used again by later ones of much the same size: allocating waits for the driver, which
// serves one process at a time, and tests run in many.

#include <algorithm>
#include <bit>
#include <map>
#include <utility>
#include <vector>

#include "base/testing/limits.h"
#include "ops/operator.h"

namespace headroom::testing {

class BufferPool {
 public:
  Buffer take(Device& device, std::size_t bytes) {
    if (device.kind() != DeviceKind::cuda || under_sanitizer()) return device.allocate(bytes);
    const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(bytes, 4096));
    std::vector<Buffer>& free = free_[capacity];
    if (free.empty()) return device.allocate(capacity);
    Buffer buffer = std::move(free.back());
    free.pop_back();
    kept_bytes_ -= capacity;
    return buffer;
  }
  void give_back(Buffer buffer) {
    constexpr std::size_t kMaxBytes = std::size_t{1} << 30;
    const Device* device = buffer.device();
    if (device == nullptr || device->kind() != DeviceKind::cuda || under_sanitizer()) return;
    if (kept_bytes_ + buffer.bytes() > kMaxBytes) return;
    kept_bytes_ += buffer.bytes();
    free_[buffer.bytes()].push_back(std::move(buffer));
  }

 private:
  std::map<std::size_t, std::vector<Buffer>> free_;  // by their size
  std::size_t kept_bytes_ = 0;
};

}  // namespace headroom::testing
