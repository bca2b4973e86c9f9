#include "ops/product/wgmma.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ops/product/cuda/shared.h"

namespace headroom {
namespace {

using products::ceil_div, products::round_up;

std::int64_t tiles_in(const Product& p, int tile_n) {
  return ceil_div(p.m, kWgmmaRows) * ceil_div(p.n, tile_n) * p.most_at_once();
}

}  // namespace

TileOrder order_tiles(std::int64_t m, std::int64_t n, int tile_m, int tile_n, int multiprocessors) {
  TileOrder order{.tiles_m = static_cast<unsigned>(ceil_div(m, tile_m)),
                  .tiles_n = static_cast<unsigned>(ceil_div(n, tile_n))};
  // As many elements down as across, in the tiles of one turn.
  const double side = std::sqrt(double(std::max(1, multiprocessors)) * tile_m * tile_n) / tile_m;
  order.group = static_cast<unsigned>(std::clamp<std::int64_t>(std::llround(side), 1, order.tiles_m));
  return order;
}

// A tile of 128 columns takes a little more than half of the time of one of 256: what is read for each
// product is half as much again.
WgmmaPlan plan_wgmma(const Product& p, int multiprocessors) {
  const std::int64_t units = std::max(1, multiprocessors);
  const auto turns = [&](int tile_n) { return double(ceil_div(tiles_in(p, tile_n), units)); };
  WgmmaPlan plan;
  plan.tile_n = turns(256) <= 0.55 * turns(128) ? 256 : 128;
  plan.depth = p.dtype == DType::f32 ? 32 : 64;
  plan.order = order_tiles(p.m, p.n, kWgmmaRows, plan.tile_n, multiprocessors);
  plan.blocks = std::min(units, tiles_in(p, plan.tile_n));
  if (p.dtype != DType::f32) return plan;
  plan.copy_a = p.trans_a, plan.copy_b = !p.trans_b;
  plan.copy_ld = round_up(p.k, 4);
  std::int64_t many_a = 1, many_b = 1;  // matrices of a run
  for (const ProductRun& run : p.runs) {
    if (run.stride_a != 0) many_a = std::max(many_a, run.count);
    if (run.stride_b != 0) many_b = std::max(many_b, run.count);
  }
  if (plan.copy_a) plan.b = static_cast<std::size_t>(round_up(4 * many_a * p.m * plan.copy_ld, 256));
  plan.workspace = plan.b;
  if (plan.copy_b) plan.workspace += static_cast<std::size_t>(4 * many_b * p.n * plan.copy_ld);
  return plan;
}

PartsProductPlan plan_parts_product(std::int64_t m, std::int64_t n, std::int64_t k, int multiprocessors) {
  PartsProductPlan plan;
  plan.order = order_tiles(m, n, kWgmmaRows, kFp16x3WgmmaColumns, multiprocessors);
  plan.steps = static_cast<int>(ceil_div(std::max<std::int64_t>(1, k), 64));
  const std::int64_t units = std::max(1, multiprocessors), tiles = plan.order.tiles();
  // In steps: to begin and end a tile is worth two, to add up over a cluster two more.
  std::int64_t least = ceil_div(tiles, units) * (plan.steps + 2);
  for (const int splits : {2, 4, 8}) {
    if (splits > plan.steps) break;
    const std::int64_t turns = ceil_div(tiles * splits, units),
                       time = turns * (ceil_div(plan.steps, splits) + 4);
    if (time < least) least = time, plan.splits = splits;
  }
  // A cluster has one tile. Blocks by themselves take tile after tile.
  plan.blocks = plan.splits > 1 ? tiles * plan.splits : std::min(units, tiles);
  return plan;
}

std::int64_t parts_blocks(std::int64_t elements, int multiprocessors) {
  constexpr std::int64_t kPerBlock = kPartsThreads * kPartsWide;
  return std::clamp<std::int64_t>(ceil_div(elements, kPerBlock), 1,
                                  kPartsBlocksPerUnit * std::max(1, multiprocessors));
}

Fp16x3WgmmaPlan plan_fp16x3_wgmma(const Product& p, int parts, int multiprocessors) {
  Fp16x3WgmmaPlan plan;
  plan.product = plan_parts_product(p.m, p.n, p.k, multiprocessors);
  const std::int64_t rows_a = p.trans_a ? p.k : p.m, rows_b = p.trans_b ? p.n : p.k;
  plan.ld_a = round_up(p.trans_a ? p.m : p.k, 8), plan.ld_b = round_up(p.trans_b ? p.k : p.n, 8);
  plan.parts_blocks = parts_blocks((p.m + p.n) * p.k, multiprocessors);
  std::size_t next = 0;
  const auto place = [&next](std::int64_t bytes) {
    const std::size_t here = next;
    next += static_cast<std::size_t>(round_up(bytes, 256));
    return here;
  };
  place(2 * 16);
  plan.found = place(2 * 8 * plan.parts_blocks);
  plan.a = place(2 * parts * rows_a * plan.ld_a);
  plan.b = place(2 * parts * rows_b * plan.ld_b);
  plan.workspace = next;
  return plan;
}

std::string no_wgmma(const Product& p, int compute_capability) {
  if (compute_capability != 90)
    return fmt::format("its warp-group instructions need compute capability 9.0, not {}.{}",
                       compute_capability / 10, compute_capability % 10);
  constexpr std::int64_t kMaxSide = (std::int64_t{1} << 30) - 1, kMaxTiles = std::int64_t{1} << 31;
  if (std::max({p.m, p.n, p.k}) > kMaxSide || tiles_in(p, 128) >= kMaxTiles)
    return "too large: the copy engine counts rows and columns in 32 bits";
  return {};
}

}  // namespace headroom
