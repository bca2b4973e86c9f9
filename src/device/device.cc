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

namespace {

// The number of the GPU that a name means. The same in every build, whether it can open one or not.
int gpu_number(std::string_view name) {
  if (name == "cuda") return 0;
  if (!name.starts_with("cuda:")) reject(Hint{"write cpu, cuda or cuda:0"}, "unknown device '{}'", name);
  return static_cast<int>(parse_int(name.substr(5), "the number of the GPU"));
}

}  // namespace

std::unique_ptr<Device> open_device(std::string_view typed, int threads) {
  const std::string name = device_name(typed);
  if (name == "cpu") return std::make_unique<CpuDevice>(threads);
  if (name.starts_with("cuda")) {
    const int number = gpu_number(name);
    const GpuSurvey survey = survey_gpus();
    if (survey.gpus.empty())
      reject(Hint{survey.try_this + "; or use `device` cpu"}, "no GPU can be used: {}", survey.why_not);
    if (number < 0 || number >= static_cast<int>(survey.gpus.size()))
      reject(Hint{fmt::format("they are numbered from 0: cuda:0 is {}", survey.gpus[0].name)},
             "there is no GPU {}: this machine has {}", number, survey.gpus.size());
#ifdef HEADROOM_HAS_CUDA
    return open_cuda_device(number, survey);
#endif
  }
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
