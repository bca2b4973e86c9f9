#include "graph/part.h"

#include <cstring>

namespace headroom {

PartRuns runs_of(const Part& part, std::size_t size) {
  const auto first = static_cast<std::size_t>(part.first), count = static_cast<std::size_t>(part.count);
  if (part.axis < 0) return {1, count * size, first * size, 0};
  std::size_t outer = 1, inner = size;
  for (int a = 0; a < part.whole.rank(); ++a)
    (a < part.axis ? outer : inner) *= a == part.axis ? 1 : static_cast<std::size_t>(part.whole[a]);
  const std::size_t extent = static_cast<std::size_t>(part.whole[part.axis]);
  return {outer, count * inner, first * inner, extent * inner};
}

std::vector<std::byte> cut_part(const Part& part, std::size_t size, const std::vector<std::byte>& whole) {
  const PartRuns runs = runs_of(part, size);
  std::vector<std::byte> cut(runs.count * runs.length);
  for (std::size_t i = 0; i < runs.count; ++i)
    std::memcpy(cut.data() + i * runs.length, whole.data() + runs.first + i * runs.stride, runs.length);
  return cut;
}

void paste_part(const Part& part, std::size_t size, const std::vector<std::byte>& from,
                std::vector<std::byte>& whole) {
  const PartRuns runs = runs_of(part, size);
  for (std::size_t i = 0; i < runs.count; ++i)
    std::memcpy(whole.data() + runs.first + i * runs.stride, from.data() + i * runs.length, runs.length);
}

}  // namespace headroom
