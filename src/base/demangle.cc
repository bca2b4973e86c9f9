#include "base/demangle.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace headroom {

std::string demangled(const char* symbol) {
  if (symbol == nullptr) return "unknown";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(symbol, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : symbol;
}

}  // namespace headroom
