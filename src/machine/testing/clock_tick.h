#pragma once

#include <optional>

namespace headroom::testing {

// Seconds per clock tick; nothing in builds without optimisation, or with a sanitizer.
std::optional<double> tick_seconds();

}  // namespace headroom::testing
