#pragma once

#include <string_view>

namespace headroom {

// Spans that tables look for: who records one and who reads it must agree on its name.
inline constexpr std::string_view kLoaderWait = "wait for the loader", kRanksWait = "wait for other ranks";

}  // namespace headroom
