#pragma once

// The time of a product whose result is cut into tiles, one block of threads per tile. Forms for products
// and convolutions share it.

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "timing/device_rates.h"

namespace headroom {

// max(a, b) with a smooth corner: two limits that are close slow each other down.
inline double smooth_max(double a, double b) {
  const double a2 = a * a, b2 = b * b;
  return std::sqrt(std::sqrt(a2 * a2 + b2 * b2));
}

struct Tile {
  int m = 0, n = 0;
  bool operator==(const Tile&) const = default;
};

// One tile size and number of parts of the reduction; all that no constant changes.
struct TileCandidate {
  Tile tile;
  int splits = 1;
  double blocks = 0, waves = 0;  // blocks per multiprocessor
  double steps = 0;              // of the inner loop, of KernelSteps values
  double compute_s = 0;          // of one block at the peak of a multiprocessor
  double load_s = 0;             // of one block, at one byte per FLOP of that peak
  double edges = 0;              // 64 / tile.m + 64 / tile.n
  double bytes = 0;              // that must pass through memory
  double split_bytes = 0;        // partial sums
  double reload_bytes = 0;       // loads of tiles beyond `bytes` that L2 may not hold
  double long_share = 0;         // 0 for short kernels, towards 1 for those that heat the chip
  double weights_fill = 0;       // bytes of the right operand / L2
  double others_fill = 0;        // bytes of the left operand and the result / L2
  double weights_bytes = 0;
};

// A product: rows x columns over a reduction, `batch` times.
struct TiledProduct {
  double batch = 1, rows = 1, columns = 1, reduction = 1;
  double element_bytes = 2, result_bytes = 2;
  double step = 64;  // values of the reduction per step of the inner loop

  double flops() const { return 2 * batch * rows * columns * reduction; }
  double weights_bytes() const { return batch * reduction * columns * element_bytes; }
  double bytes() const {
    return weights_bytes() + batch * rows * (reduction * element_bytes + columns * result_bytes);
  }
};
TileCandidate tile_candidate(const TiledProduct& product, const Tile& tile, int splits,
                             const DeviceRates& device);

// How alike the sizes are to powers of two, up to 64: vector loads need it.
void add_alignments(const TiledProduct& product, std::vector<double>& features);
// Tile, waves and ideal times of a candidate, for the residual correction.
void add_tile_features(const TiledProduct& product, const TileCandidate& c, const DeviceRates& device,
                       std::vector<double>& features);

// Least time by the peaks of the machine. What fits into L2 may be there already.
double product_floor(const TiledProduct& product, const DeviceRates& device);

// Constants of the formula; see gemm_form.cc for their meaning.
struct TileConstants {
  double compute_share, memory_share, start_s, tile_s, load_intensity, edge_loss, split_s, split_share,
      long_loss, wave_overlap, step_s, reload_share;
  double cached_share = 1, cached_weights = 1, cached_others = 1;  // 1: nothing is cached
  double lone_share = 0;  // of a multiprocessor that one block of 128x128 can use; 0: all of it
};

// The constants that forms of products begin with, in this order.
struct TileIndex {
  enum : std::size_t {
    compute_share,
    memory_share,
    start_launches,
    tile_cycles,
    load_intensity,
    edge_loss,
    split_cycles,
    split_share,
    long_loss,
    wave_overlap,
    step_cycles,
    reload_share,
    count
  };
};
TileConstants tile_constants(std::span<const double> k, const DeviceRates& device);

struct TileTime {
  double compute = 0, load = 0, latency = 0;  // of all waves
  double blocks = 0;                          // all of these together
  double memory = 0, total = 0;               // total: with start and split
};
TileTime tile_time(const TileCandidate& c, const TileConstants& k, const DeviceRates& device);
std::string bound_of(const TileTime& time, double start_s);

}  // namespace headroom
