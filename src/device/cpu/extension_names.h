#pragma once

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <vector>

#include "device/cpu/extensions.h"

namespace headroom {

inline std::vector<std::string> extension_names(ExtensionSet set) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::size(kExtensions); ++i)
    if ((set >> i & 1) != 0) names.emplace_back(kExtensions[i]);
  return names;
}

// "sse4.2 popcnt avx"
inline std::string extension_text(ExtensionSet set) {
  return fmt::format("{}", fmt::join(extension_names(set), " "));
}

}  // namespace headroom
