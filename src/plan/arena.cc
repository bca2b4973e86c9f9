#include "plan/arena.h"

#include <algorithm>
#include <numeric>

#include "device/device.h"

namespace headroom {

namespace {

// What the search reads of a placed piece, side by side in memory: the search is one pass over these.
struct Placed {
  std::size_t begin, end;
  int first, last;
};

}  // namespace

std::size_t place(std::vector<Lifetime>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });

  std::size_t total = 0;
  std::vector<Placed> placed;  // by begin
  placed.reserve(pieces.size());
  for (std::size_t index : order) {
    Lifetime& piece = pieces[index];
    const std::size_t bytes = align_up(piece.bytes);
    std::size_t offset = 0;
    for (const Placed& other : placed) {
      // Without branches on who is alive when: for the processor that is a coin toss per piece.
      const bool together = (other.first <= piece.last) & (piece.first <= other.last);
      if (together & (offset + bytes <= other.begin)) break;  // the gap before this one is large enough
      offset = std::max(offset, together ? other.end : 0);
    }
    piece.offset = offset;
    total = std::max(total, offset + bytes);
    const auto at = std::upper_bound(placed.begin(), placed.end(), offset,
                                     [](std::size_t value, const Placed& p) { return value < p.begin; });
    placed.insert(at, {offset, offset + bytes, piece.first, piece.last});
  }
  return total;
}

}  // namespace headroom
