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

// How products of matrices in parts of fp16 go about it: tiles, steps of 64 of k, and blocks that share the
// steps of a tile as a cluster, where there are fewer tiles than multiprocessors.
struct PartsProductPlan {
  TileOrder order;
  int steps = 1, splits = 1;
  std::int64_t blocks = 1;
};
inline constexpr int kFp16x3WgmmaColumns = 128;  // of a tile
PartsProductPlan plan_parts_product(std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors);

// Blocks that write the parts of so many elements; they wait for each other, so all of them must run at once.
inline constexpr int kPartsThreads = 512, kPartsBlocksPerUnit = 2, kPartsWide = 8;  // elements of a store
std::int64_t parts_blocks(std::int64_t elements, int multiprocessors);

// Of "cuda:fp16x3_wgmma", which also writes the parts of both factors. Offsets in bytes.
struct Fp16x3WgmmaPlan {
  PartsProductPlan product;
  std::int64_t ld_a = 8, ld_b = 8;  // of the parts
  std::int64_t parts_blocks = 1;
  std::size_t found = 0, a = 0, b = 0, workspace = 0;  // the two scales come first
};
Fp16x3WgmmaPlan plan_fp16x3_wgmma(const Product& product, int parts, int multiprocessors);

// Tiles of the output, in an order for so many blocks at a time.
TileOrder order_tiles(std::int64_t m, std::int64_t n, int tile_m, int tile_n, int multiprocessors);

// Why a GPU or a product cannot use these instructions at all; empty: it can.
std::string no_wgmma(const Product& product, int compute_capability);

}  // namespace headroom
