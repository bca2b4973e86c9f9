#include "ops/product/rows_plan.h"

#include <algorithm>

#include "ops/product/cuda/shared.h"

namespace headroom {
namespace {

using products::ceil_div, products::round_up;

// In steps of 64 of k with 128 columns: to begin and end a tile is worth four, to add up over a cluster three
// more. Rows are read and split for every tile of columns, which is worth 48 columns.
void cut(RowsPlan& plan, std::int64_t units) {
  constexpr double kRowsCost = 48, kColumnsOfUnit = 128, kEnds = 4, kCluster = 3;
  double least = 0;
  for (const int tile_n : {64, 128, 160})
    for (const int splits : {1, 2, 4, 8}) {
      if (splits > plan.steps || (tile_n == 160 && !plan.along_columns)) break;
      const std::int64_t tiles = ceil_div(plan.rows, kWgmmaRows) * ceil_div(plan.columns, tile_n);
      const double step = (tile_n + kRowsCost) / (kColumnsOfUnit + kRowsCost);
      const double time = double(ceil_div(tiles * splits, units)) *
                          (double(ceil_div(plan.steps, splits)) * step + kEnds + (splits > 1 ? kCluster : 0));
      if (least != 0 && time >= least) continue;
      least = time, plan.tile_n = tile_n, plan.splits = splits, plan.tiles = tiles;
    }
}

}  // namespace

RowsPlan plan_rows(const Product& p, int multiprocessors) {
  RowsPlan plan;
  plan.swapped = p.n > p.m;
  plan.rows = plan.swapped ? p.n : p.m, plan.columns = plan.swapped ? p.m : p.n;
  plan.along_rows = plan.swapped ? p.trans_b : !p.trans_a;
  plan.along_columns = plan.swapped ? !p.trans_a : p.trans_b;
  plan.steps = static_cast<int>(ceil_div(std::max<std::int64_t>(1, p.k), 64));
  cut(plan, std::max(1, multiprocessors));
  plan.ld = round_up(plan.along_columns ? p.k : plan.columns, 8);
  plan.parts_blocks = parts_blocks(plan.columns * p.k, multiprocessors);
  plan.found = 256;
  plan.parts = plan.found + static_cast<std::size_t>(round_up(2 * 8 * plan.parts_blocks, 256));
  plan.workspace = plan.parts + static_cast<std::size_t>((p.tf32 ? 2 : 4) *
                                                         (plan.along_columns ? plan.columns : p.k) * plan.ld);
  return plan;
}

}  // namespace headroom
