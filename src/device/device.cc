#include "device/device.h"

#include <utility>

#include "base/text.h"
#include "device/cpu/cpu_device.h"

namespace headroom {

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) device_->free_bytes(data_);
}

Buffer Device::allocate(std::size_t bytes) {
  const std::size_t padded = align_up(bytes == 0 ? 1 : bytes);
  return {*this, allocate_bytes(padded), padded};
}

std::unique_ptr<Device> open_device(std::string_view name, int threads) {
  if (name == "cpu") return std::make_unique<CpuDevice>(threads);
  if (name.starts_with("cuda")) reject(Hint{"use --device cpu"}, "this build has no CUDA support");
  reject(nearest(name, std::vector<std::string>{"cpu"}), "unknown device '{}'", name);
}

}  // namespace headroom
