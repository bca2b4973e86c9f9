#pragma once

#include <string>
#include <vector>

namespace headroom::cuda {

// A shared library that is loaded on first use: the program starts without it, and runs without it where it
// is only wished for.
class Library {
 public:
  // Tries the names in order; remembers why none could be loaded.
  explicit Library(const std::vector<std::string>& names);
  bool loaded() const { return handle_ != nullptr; }
  const std::string& why_not() const { return why_not_; }

  // Fills a pointer to function by its name; false where the library has none.
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

// The names under which NVIDIA's matrix products are looked for; in one place, because opening a device and
// using the library must agree.
const std::vector<std::string>& cublaslt_names();
const std::vector<std::string>& cudnn_names();

}  // namespace headroom::cuda
