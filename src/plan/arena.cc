#include "plan/arena.h"

#include <algorithm>
#include <numeric>

#include "device/device.h"
#include "plan/occupancy.h"

namespace headroom {

std::size_t place(std::vector<Lifetime>& pieces) {
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });

  int steps = 1;
  for (const Lifetime& piece : pieces) steps = std::max(steps, piece.last + 1);
  Occupancy occupancy(steps);
  std::size_t total = 0;
  for (std::size_t index : order) {
    Lifetime& piece = pieces[index];
    const std::size_t bytes = align_up(piece.bytes);
    piece.offset = 0;
    if (bytes == 0) continue;
    piece.offset = occupancy.lowest_gap(piece.first, piece.last, bytes);
    occupancy.take(piece.first, piece.last, {piece.offset, piece.offset + bytes});
    total = std::max(total, piece.offset + bytes);
  }
  return total;
}

}  // namespace headroom
