#include "plan/arena.h"

#include <algorithm>
#include <numeric>

#include "device/device.h"

namespace headroom {

std::size_t place(std::vector<Lifetime>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });

  std::size_t total = 0;
  std::vector<std::size_t> placed;  // indices, by offset
  for (std::size_t index : order) {
    Lifetime& piece = pieces[index];
    const std::size_t bytes = align_up(piece.bytes);
    std::size_t offset = 0;
    for (std::size_t other : placed) {
      const Lifetime& o = pieces[other];
      if (o.last < piece.first || piece.last < o.first) continue;
      if (offset + bytes <= o.offset) break;  // the gap before this one is large enough
      offset = std::max(offset, o.offset + align_up(o.bytes));
    }
    piece.offset = offset;
    total = std::max(total, offset + bytes);
    const auto at =
        std::upper_bound(placed.begin(), placed.end(), offset,
                         [&](std::size_t value, std::size_t i) { return value < pieces[i].offset; });
    placed.insert(at, index);
  }
  return total;
}

}  // namespace headroom
