#include "device/cuda/library.h"

#include <dlfcn.h>

namespace headroom::cuda {

Library::Library(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    handle_ = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    if (why_not_.empty()) why_not_ = ::dlerror();
  }
}

void* Library::symbol(const char* name) const {
  return handle_ == nullptr ? nullptr : ::dlsym(handle_, name);
}

const std::vector<std::string>& cublaslt_names() {
  static const std::vector<std::string> names = {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"};
  return names;
}

// Version 8 has the same functions, but not for our CUDA versions.
const std::vector<std::string>& cudnn_names() {
  static const std::vector<std::string> names = {"libcudnn.so.9", "libcudnn.so"};
  return names;
}

}  // namespace headroom::cuda
