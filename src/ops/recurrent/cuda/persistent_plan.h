#pragma once

// How the blocks of one launch share a recurrent layer: each keeps the rows of R for some units in its shared
// memory through all steps, and works on some items of the batch.

#include <cstdint>

#include "base/host_device.h"

namespace headroom::cuda {

struct PersistentPlan {
  static constexpr int kItems = 16;  // at a time
  static constexpr int kThreads = 256;
  static constexpr int kDepth = 256;  // terms of a product loaded at a time
  static constexpr int kPad = 4;      // floats after each row in shared memory: rows begin in different banks

  int groups = 0;  // of eight rows; 0: the layer does not fit
  std::int64_t terms = 0, units = 0, unit_blocks = 0, lanes = 0, tiles = 0;

  HEADROOM_HOST_DEVICE int rows() const { return 8 * groups; }
  HEADROOM_HOST_DEVICE int slices() const { return kThreads / (4 * groups); }
  HEADROOM_HOST_DEVICE std::int64_t weight_floats() const { return rows() * (terms + kPad); }
  HEADROOM_HOST_DEVICE static constexpr std::int64_t item_floats() { return kItems * (kDepth + kPad); }
  HEADROOM_HOST_DEVICE static constexpr std::int64_t sum_floats() { return kThreads * 32; }
  std::int64_t shared_bytes() const { return 4 * (weight_floats() + 2 * item_floats() + sum_floats()); }
  std::int64_t blocks(std::int64_t dirs) const { return dirs * unit_blocks * lanes; }
};

struct PersistentLayer {
  std::int64_t hidden, batch, dirs;
  std::int64_t rows_of_unit;  // of R that one unit needs
  std::int64_t terms;         // of each product
};

// As many rows a block as fit into `shared_bytes`, then as many lanes of items as `multiprocessors` can run.
inline PersistentPlan persistent_plan(const PersistentLayer& layer, std::int64_t multiprocessors,
                                      std::int64_t shared_bytes) {
  PersistentPlan p;
  p.terms = layer.terms;
  p.tiles = (layer.batch + PersistentPlan::kItems - 1) / PersistentPlan::kItems;
  for (const int groups : {8, 4, 2, 1}) {
    p.groups = groups;
    p.units = p.rows() / layer.rows_of_unit;
    p.unit_blocks = (layer.hidden + p.units - 1) / p.units;
    if (p.shared_bytes() > shared_bytes) continue;
    p.lanes = multiprocessors / (layer.dirs * p.unit_blocks);
    if (p.lanes == 0) break;  // with fewer rows each, even more blocks
    if (p.lanes > p.tiles) p.lanes = p.tiles;
    return p;
  }
  p.groups = 0;
  return p;
}

}  // namespace headroom::cuda
