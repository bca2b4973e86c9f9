#include "ops/axes.h"

#include <algorithm>

#include "base/error.h"

namespace headroom {

std::int64_t normalize_axis(std::string_view op, std::int64_t axis, int rank) {
  if (rank < 1) reject("{}: a scalar has no axis {}", op, axis);
  if (axis < -rank || axis >= rank)
    reject(Hint{"negative axes count from the end"}, "{}: axis {} of a tensor of {} dimensions", op, axis,
           rank);
  return axis < 0 ? axis + rank : axis;
}

std::vector<std::int64_t> normalize_axes(std::string_view op, const std::vector<std::int64_t>& axes,
                                         int rank) {
  std::vector<std::int64_t> result;
  for (std::int64_t axis : axes) {
    const std::int64_t known = normalize_axis(op, axis, rank);
    if (std::find(result.begin(), result.end(), known) != result.end())
      reject("{}: axis {} is named twice in [{}]", op, known, fmt::join(axes, ","));
    result.push_back(known);
  }
  return result;
}

}  // namespace headroom
