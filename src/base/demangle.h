#pragma once

#include <string>

namespace headroom {

// The C++ name of a symbol; another name stays as it is. "unknown" for null.
std::string demangled(const char* symbol);

}  // namespace headroom
