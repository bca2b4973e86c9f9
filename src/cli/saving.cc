#include "cli/saving.h"

#include "base/error.h"

namespace headroom::cli {

void Saving::attempt(const std::function<void()>& write) {
  try {
    write();
  } catch (const Error&) {
    if (!failed()) error_ = std::current_exception();
  }
}

void Saving::finish() const {
  if (failed()) std::rethrow_exception(error_);
}

}  // namespace headroom::cli
