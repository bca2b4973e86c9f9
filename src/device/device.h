#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include "device/capabilities.h"

namespace headroom {

class Device;

// Memory of one device, freed with the object. The bytes behind data() belong to that device.
class Buffer {
 public:
  Buffer() = default;
  Buffer(Device& device, void* data, std::size_t bytes) : device_(&device), data_(data), bytes_(bytes) {}
  Buffer(Buffer&& other) noexcept { *this = std::move(other); }
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }
  Device* device() const { return device_; }

 private:
  Device* device_ = nullptr;
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

// An ordered queue of work. The CPU has one and finishes each piece before the call returns.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual void synchronize() = 0;
};

// The small interface everything above runs on. One object per physical device; not thread-safe.
class Device {
 public:
  virtual ~Device() = default;
  virtual const Capabilities& capabilities() const = 0;
  virtual Stream& stream() = 0;

  Buffer allocate(std::size_t bytes);
  virtual void upload(void* dst, const void* src, std::size_t bytes) = 0;    // host to device
  virtual void download(void* dst, const void* src, std::size_t bytes) = 0;  // device to host
  virtual void copy(void* dst, const void* src, std::size_t bytes) = 0;      // within the device
  virtual void zero(void* dst, std::size_t bytes) = 0;

  DeviceKind kind() const { return capabilities().kind; }

 private:
  friend class Buffer;
  virtual void* allocate_bytes(std::size_t bytes) = 0;
  virtual void free_bytes(void* data) noexcept = 0;
};

// Every offset and allocation is a multiple of this: a cache line, a SIMD register, a CUDA transaction.
inline constexpr std::size_t kAlignment = 256;
constexpr std::size_t align_up(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// "cpu" or "cuda:n". threads: 0 takes one per core that this process may use.
std::unique_ptr<Device> open_device(std::string_view name, int threads = 0);
// What open_device("cpu", threads) would offer, without opening it.
Capabilities cpu_capabilities(int threads = 0);

}  // namespace headroom
