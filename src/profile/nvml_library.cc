#include "profile/nvml_library.h"

#include <dlfcn.h>

#include "base/text.h"

namespace headroom {

NvmlLibrary::NvmlLibrary() {
  library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    why_not_ = "no libnvidia-ml.so.1, which comes with NVIDIA's driver";
    return;
  }
  int (*init)() = nullptr;
  if (!find(init, "nvmlInit_v2") || !find(shutdown_, "nvmlShutdown") ||
      !find(count_, "nvmlDeviceGetCount_v2") || !find(handle_, "nvmlDeviceGetHandleByIndex_v2") ||
      !find(text_, "nvmlErrorString")) {
    why_not_ = "libnvidia-ml.so.1 is too old";
    return;
  }
  const int error = init();
  started_ = error == kSuccess;
  if (!started_) why_not_ = fmt::format("NVML cannot start: {}", text_(error));
}

NvmlLibrary::~NvmlLibrary() {
  if (started_) shutdown_();
  if (library_ != nullptr) ::dlclose(library_);
}

std::string NvmlLibrary::text(int error) const { return text_ != nullptr ? text_(error) : "not started"; }

unsigned NvmlLibrary::count() const {
  unsigned number = 0;
  return started_ && count_(&number) == kSuccess ? number : 0;
}

NvmlLibrary::Handle NvmlLibrary::gpu(unsigned index) const {
  Handle handle = nullptr;
  return started_ && handle_(index, &handle) == kSuccess ? handle : nullptr;
}

void* NvmlLibrary::symbol(const char* name) const {
  return library_ != nullptr ? ::dlsym(library_, name) : nullptr;
}

unsigned gpu_index(const std::string& device) {
  const std::size_t colon = device.find(':');
  return colon == device.npos ? 0 : static_cast<unsigned>(parse_int(device.substr(colon + 1), "the device"));
}

}  // namespace headroom
