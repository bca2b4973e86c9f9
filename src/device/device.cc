#include "device/device.h"

#include <utility>

#include "base/text.h"
#include "device/cpu/cpu_device.h"
#include "device/name.h"
#ifdef HEADROOM_HAS_CUDA
#include "device/cuda/cuda_device.h"
#endif

namespace headroom {

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(on_host_, other.on_host_);
  return *this;
}

Buffer::~Buffer() {
  if (data_ != nullptr) device_->free_bytes(data_, on_host_);
}

Buffer Device::allocate(std::size_t bytes) {
  const std::size_t padded = align_up(bytes == 0 ? 1 : bytes);
  return {*this, allocate_bytes(padded, false), padded};
}

Buffer Device::allocate_host(std::size_t bytes) {
  const std::size_t padded = align_up(bytes == 0 ? 1 : bytes);
  return {*this, allocate_bytes(padded, true), padded, true};
}

std::string device_name(std::string_view typed) {
  if (typed == "gpu" || typed.starts_with("gpu:")) return "cuda" + std::string(typed.substr(3));
  return std::string(typed);
}

std::unique_ptr<Device> open_device(std::string_view typed, int threads) {
  const std::string name = device_name(typed);
  if (name == "cpu") return std::make_unique<CpuDevice>(threads);
#ifdef HEADROOM_HAS_CUDA
  if (name.starts_with("cuda")) return open_cuda_device(name);
#else
  if (const GpuSurvey survey = survey_gpus(); name.starts_with("cuda"))
    reject(Hint{survey.try_this + "; or use `device` cpu"}, "no GPU can be used: {}", survey.why_not);
#endif
  reject(nearest(name, std::vector<std::string>{"cpu", "cuda", "gpu"}), "unknown device '{}'", name);
}

#ifndef HEADROOM_HAS_CUDA
GpuSurvey survey_gpus() {
  return {.gpus = {},
          .driver = {},
          .runtime = {},
          .why_not = "this program was built without CUDA",
          .try_this = "install the CUDA toolkit and build again"};
}
#endif

}  // namespace headroom
