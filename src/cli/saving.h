#pragma once

#include <exception>
#include <functional>

namespace headroom::cli {

// Writes the files of a run. A write that fails must lose neither the other files nor the printed result, so
// its error waits until everything else is done. The first error counts.
class Saving {
 public:
  void attempt(const std::function<void()>& write);
  bool failed() const { return error_ != nullptr; }
  void finish() const;  // throws the first error

 private:
  std::exception_ptr error_;
};

}  // namespace headroom::cli
