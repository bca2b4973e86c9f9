#pragma once

// Axes as users write them: negative ones count from the end.

#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom {

// -rank..rank-1 to 0..rank-1; rejects what lies outside, naming the operator.
std::int64_t normalize_axis(std::string_view op, std::int64_t axis, int rank);

// The same for a list, in its own order; rejects an axis named twice.
std::vector<std::int64_t> normalize_axes(std::string_view op, const std::vector<std::int64_t>& axes,
                                         int rank);

}  // namespace headroom
