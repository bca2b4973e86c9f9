#pragma once

// The order in which the blocks of a persistent kernel take the tiles of an output. Plain data, for device
// code too.

namespace headroom {

// Tiles follow one another down groups of `group` tiles of rows: the tiles that run at the same time cover a
// part of the output that is about square, so that both operands stay in L2.
struct TileOrder {
  unsigned tiles_m = 1, tiles_n = 1, group = 1;
  constexpr unsigned tiles() const { return tiles_m * tiles_n; }
};

struct TilePlace {
  unsigned m = 0, n = 0;
};

// Every number below order.tiles() has a place of its own.
constexpr TilePlace place_of(const TileOrder& order, unsigned tile) {
  const unsigned per_group = order.group * order.tiles_n, first = tile / per_group * order.group;
  const unsigned left = order.tiles_m - first, rows = left < order.group ? left : order.group;
  const unsigned within = tile % per_group;
  return {first + within % rows, within / rows};
}

}  // namespace headroom
