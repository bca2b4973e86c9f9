#pragma once

#include <string>
#include <vector>

namespace headroom::cuda {

// A shared library loaded on first use: the program starts without it, and runs without it if it is optional.
class Library {
 public:
  // Tries the names in order; remembers why none could be loaded.
  explicit Library(const std::vector<std::string>& names);
  bool loaded() const { return handle_ != nullptr; }
  const std::string& why_not() const { return why_not_; }

  // Sets a function pointer by name; false if the library lacks it.
  template <class Function>
  bool find(Function*& function, const char* name) const {
    function = reinterpret_cast<Function*>(symbol(name));
    return function != nullptr;
  }

 private:
  void* symbol(const char* name) const;
  void* handle_ = nullptr;
  std::string why_not_;
};

// The file names of NVIDIA's GEMM library, in one place because opening a device and using the library must
// agree.
const std::vector<std::string>& cublaslt_names();
const std::vector<std::string>& cudnn_names();

}  // namespace headroom::cuda
