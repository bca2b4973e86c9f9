#pragma once

#include <string>

namespace headroom {

// NVML, which comes with NVIDIA's driver: loaded and started while this lives. Its functions are declared
// where they are used: the header is not part of every toolkit.
class NvmlLibrary {
 public:
  using Handle = void*;  // of a GPU
  static constexpr int kSuccess = 0;

  NvmlLibrary();
  ~NvmlLibrary();
  NvmlLibrary(const NvmlLibrary&) = delete;
  NvmlLibrary& operator=(const NvmlLibrary&) = delete;

  const std::string& why_not() const { return why_not_; }  // it could not be started; empty: it was
  std::string text(int error) const;
  unsigned count() const;
  Handle gpu(unsigned index) const;  // null: NVML does not show it

  // Sets a function pointer by name; false if the library lacks it.
  template <class Function>
  bool find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* symbol(const char* name) const;

  void* library_ = nullptr;
  bool started_ = false;
  std::string why_not_;
  int (*shutdown_)() = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, Handle*) = nullptr;
  const char* (*text_)(int) = nullptr;
};

// The number of a GPU in the name of its device: 1 of "cuda:1", 0 of "cuda".
unsigned gpu_index(const std::string& device);

}  // namespace headroom
