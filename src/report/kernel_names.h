#pragma once

#include <string>
#include <string_view>

namespace headroom {

// A C++ name of a kernel in at most `width` characters: first without result and parameters, then without
// inner template arguments, then without namespaces, then without its middle. Files hold the whole name.
inline constexpr std::size_t kKernelNameWidth = 60;
std::string short_kernel_name(std::string_view name, std::size_t width = kKernelNameWidth);

}  // namespace headroom
