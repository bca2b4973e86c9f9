#pragma once

// Plans of the kernels that use Hopper's warp-group instructions; what they do is told in
// ops/cuda/gemm_wgmma.h.

#include <string>

#include "ops/product/product.h"
#include "ops/product/tile_order.h"

namespace headroom {

// A tile of the output has 128 rows, 64 for each of the two warpgroups that multiply.
inline constexpr int kWgmmaRows = 128;

// How "cuda:wgmma" goes about a product. The instructions take tf32 factors only contiguous along k: a factor
// that lies across it is transposed into the workspace first. Offsets in bytes.
struct WgmmaPlan {
  int tile_n = 256;
  int depth = 64;  // k of one step: 128 bytes
  TileOrder order;
  std::int64_t blocks = 1;              // that run at the same time, and take the tiles in turn
  bool copy_a = false, copy_b = false;  // transposed first
  std::int64_t copy_ld = 0;             // of the copies, in elements
  std::size_t a = 0, b = 0, workspace = 0;
};
WgmmaPlan plan_wgmma(const Product& product, int multiprocessors);

// How "cuda:fp16x3_wgmma" does: sides filled up to multiples of 8, k to whole steps of 64, in copies that
// hold both parts of every factor.
struct Fp16x3WgmmaPlan {
  std::int64_t m = 8, n = 8, k = 64;
  TileOrder order;
  std::int64_t blocks = 1;
  std::size_t a = 0, b = 0, workspace = 0;
};
inline constexpr int kFp16x3WgmmaColumns = 128;  // of a tile
Fp16x3WgmmaPlan plan_fp16x3_wgmma(const Product& product, int multiprocessors);

// Tiles of the output, in an order for so many blocks at a time.
TileOrder order_tiles(std::int64_t m, std::int64_t n, int tile_m, int tile_n, int multiprocessors);

// Why a GPU or a product cannot use these instructions at all; empty: it can.
std::string no_wgmma(const Product& product, int compute_capability);

}  // namespace headroom
