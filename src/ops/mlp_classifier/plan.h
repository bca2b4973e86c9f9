#pragma once

// How a Hopper GPU shares out the work of mlp_classifier. All of it is arithmetic: plans are made and tested
// without a GPU.
//
// A cluster of blocks takes a tile of rows at a time. Each of its blocks holds a stretch of the inputs: of
// the rows, and of the hidden layer's weights, both in parts of fp16 in shared memory. It multiplies them,
// the blocks add up their sums through distributed shared memory, each of them finishes some rows of the tile
// up to dz, and all get all of dz. The gradient of the weights needs the same stretch of the rows again,
// which is still there.

#include <cstddef>
#include <cstdint>

namespace headroom {

struct MlpClassifierPlan {
  static constexpr int kThreads = 512, kWarps = kThreads / 32;
  static constexpr int kMaxHidden = 256, kMaxClasses = 16, kMaxBlocks = 8, kMaxInputs = 512;
  static constexpr int kStep = 16;      // of k in an instruction
  static constexpr int kUnitTiles = 4;  // of 8 units whose sums a warp of the hidden layer keeps at once
  // Inputs after which sums of the tensor cores, which are cut off, are added up by ordinary additions.
  static constexpr int kPromote = 64;
  static constexpr int kHeld =
      16;  // groups of four elements of a piece that a thread holds while they are split
  static constexpr int kMaxRows = 128;  // of a tile: sums of the tensor cores over so many are exact enough

  int parts = 2;    // of fp16; 1: as exact as tf32
  int rows = 0;     // of a tile; 0: there is no plan
  int columns = 0;  // for the hidden layer: its units, rounded up to a power of two
  int units = 0;    // the same, rounded up to whole instructions
  int inputs = 0;   // of a block
  int blocks = 0;   // of a cluster
  std::int64_t tiles = 0, clusters = 0;
  double us = 0;  // expected, to compare plans

  // Elements of fp16 from one row in parts to the next, and of fp32: eight of them lie in different banks.
  static constexpr int line(int elements) { return 2 * elements + 8; }
  static constexpr int float_line(int elements) { return elements + 4; }

  // Tiles of 8 inputs whose sums a warp of the gradient of weights keeps at once: kernels exist for 2 and 4.
  constexpr int input_tiles_at_once() const {
    const int apart = kWarps / (units / 16), most = (inputs / 8 + apart - 1) / apart;
    return most <= 2 ? 2 : 4;
  }
  // Of a block in a tile, at the most.
  constexpr int own_rows() const { return (rows + blocks - 1) / blocks; }
  int shared_bytes(int classes) const;
  // What clusters leave of dw1, and what blocks leave of dw2, db1, db2, losses and counts.
  std::size_t workspace(std::int64_t inputs_in_all, std::int64_t hidden, std::int64_t classes) const;
  std::int64_t blocks_in_all() const { return clusters * blocks; }
};

MlpClassifierPlan plan_mlp_classifier(std::int64_t rows, std::int64_t inputs, std::int64_t hidden,
                                      std::int64_t classes, int parts, int multiprocessors);

}  // namespace headroom
