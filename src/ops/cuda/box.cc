#include "ops/cuda/box.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace headroom::cuda {

BoxCopy box_of(const StridedCopy& copy) {
  constexpr std::int64_t kShort = 16;
  std::vector<StridedCopy::Axis> axes(copy.axes.begin(), copy.axes.begin() + copy.rank);
  BoxCopy box{.rank = copy.rank, .from_offset = copy.from, .to_offset = copy.to};
  const auto fast = std::find_if(axes.begin(), axes.end(), [](const auto& axis) { return axis.from == 1; });
  if (axes.back().to == 1 && fast != axes.end() && fast + 1 != axes.end() && axes.back().extent >= kShort) {
    if (fast->extent >= kShort) {
      std::rotate(fast, fast + 1, axes.end() - 1);  // next to last
      box.crosswise = true;
    } else {
      // What lies together in `from` is read together; the short axis then makes few streams of writes.
      std::stable_sort(axes.begin(), axes.end(),
                       [](const auto& a, const auto& b) { return std::abs(a.from) > std::abs(b.from); });
    }
  }
  for (int a = 0; a < copy.rank; ++a) {
    const auto& axis = axes[static_cast<std::size_t>(a)];
    box.extent[a] = axis.extent, box.from[a] = axis.from, box.to[a] = axis.to;
  }
  return box;
}

}  // namespace headroom::cuda
