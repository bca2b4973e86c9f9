#include "ops/reduce/passes.h"

#include <algorithm>

namespace headroom {

// Large enough that the partial results are few, small enough that there is work for many threads.
std::int64_t Pass::chunk() const { return std::max<std::int64_t>(inner == 1 ? 1024 : 65, 16384 / inner); }

std::vector<Pass> passes_of(const ReduceProblem& r) {
  // Extents of 1 do not count, and neighbours that fare alike are one.
  std::vector<std::pair<std::int64_t, bool>> groups;
  for (int axis = 0; axis < r.input.rank(); ++axis) {
    const bool reduced = std::binary_search(r.axes.begin(), r.axes.end(), axis);
    if (r.input[axis] == 1) continue;
    if (groups.empty() || groups.back().second != reduced) groups.push_back({1, reduced});
    groups.back().first *= r.input[axis];
  }
  std::vector<Pass> passes;
  std::int64_t inner = 1;
  for (std::size_t g = groups.size(); g-- > 0;) {
    if (!groups[g].second) {
      inner *= groups[g].first;
      continue;
    }
    Pass pass{.outer = 1, .length = groups[g].first, .inner = inner};
    for (std::size_t before = 0; before < g; ++before) pass.outer *= groups[before].first;
    passes.push_back(pass);
  }
  return passes;
}

}  // namespace headroom
