#include "ops/mlp_classifier/plan.h"

#include <algorithm>

namespace headroom {
namespace mlp_classifier_plan_cc {
namespace {

constexpr int kSharedLimit = 225 * 1024;  // of 227 KiB: the kernel has some variables besides
// Clusters that run at once. They lie within groups of multiprocessors, of 16 at least on Hopper, but some of
// these have fewer: an H200 of 132 takes 66, 39, 30, 22, 17, 15 and 15 clusters of 2 to 8 blocks.
std::int64_t clusters_at_once(int blocks, int multiprocessors) {
  constexpr int kGroup = 16;
  const std::int64_t all = std::max(kGroup, multiprocessors);
  return blocks <= 2 ? all / blocks : all / kGroup * (kGroup / blocks) * 15 / 16;
}

int round_up(std::int64_t n, int to) { return static_cast<int>((n + to - 1) / to) * to; }

int columns_for(std::int64_t hidden) {
  for (int columns : {32, 64, 128, MlpClassifierPlan::kMaxHidden})
    if (hidden <= columns) return columns;
  return 0;
}

bool fits(const MlpClassifierPlan& p, int classes) {
  constexpr int kMaxPiece = 4 * MlpClassifierPlan::kHeld * MlpClassifierPlan::kThreads;
  return p.inputs <= MlpClassifierPlan::kMaxInputs && std::max(p.rows, p.units) * p.inputs <= kMaxPiece &&
         p.shared_bytes(classes) <= kSharedLimit;
}

// Reading a tile and its way through the cluster cost the same whatever its size; products go at some share
// of the rate of the tensor cores. Constants from an H200: 800 x 784 x 100 24 us, 3200 x 784 x 64 30, 128 x
// 400 x 48 13, 3000 x 784 x 100 in two turns 50.
double expected_us(const MlpClassifierPlan& p) {
  constexpr double kStart = 8, kTile = 4.8, kPerProduct = 2.9 / (3.0 * 64 * 112 * 112), kPerByte = 1.2 / 40e3;
  const double products = double(p.parts == 2 ? 3 : 1) * p.rows * p.units * p.inputs;
  const double turns = double((p.tiles + p.clusters - 1) / p.clusters);
  const double weights = kPerByte * 4 * p.units * p.inputs, rows = kPerByte * 4 * p.rows * p.inputs;
  const double sums = kPerByte / 100 * 8 * double(p.clusters) * p.blocks * p.units * p.inputs;
  return kStart + weights + sums + turns * (kTile + rows + 2 * kPerProduct * products);
}

}  // namespace
}  // namespace mlp_classifier_plan_cc

int MlpClassifierPlan::shared_bytes(int classes) const {
  const int halves = (rows + units) * line(inputs) + rows * line(units);
  const int floats = (rows + classes) * float_line(units) + units + own_rows() * kMaxClasses +
                     (kWarps + classes) * units + kMaxClasses + 8;
  return 2 * halves + 4 * floats + 8 * own_rows();
}

std::size_t MlpClassifierPlan::workspace(std::int64_t inputs_in_all, std::int64_t hidden,
                                         std::int64_t classes) const {
  const std::int64_t sums = classes * hidden + hidden + classes;
  return static_cast<std::size_t>(2 * blocks_in_all()) * sizeof(double) +
         static_cast<std::size_t>(clusters * hidden * inputs_in_all + blocks_in_all() * sums) * sizeof(float);
}

MlpClassifierPlan plan_mlp_classifier(std::int64_t rows, std::int64_t inputs, std::int64_t hidden,
                                      std::int64_t classes, int parts, int multiprocessors) {
  using namespace mlp_classifier_plan_cc;
  using P = MlpClassifierPlan;
  constexpr std::int64_t kMaxInputs = 1 << 16;
  MlpClassifierPlan best;
  if (columns_for(hidden) == 0 || classes > P::kMaxClasses || inputs > kMaxInputs) return best;
  int stretch_before = 0;
  for (int blocks = P::kMaxBlocks; blocks >= 1; --blocks) {
    P p;
    p.parts = parts;
    p.columns = columns_for(hidden);
    p.units = round_up(hidden, P::kStep);
    p.inputs = round_up((inputs + blocks - 1) / blocks, P::kStep);
    if (p.inputs == stretch_before) continue;  // one of the blocks would have nothing to do
    stretch_before = p.inputs;
    p.blocks = static_cast<int>((inputs + p.inputs - 1) / p.inputs);
    const std::int64_t at_once = std::max<std::int64_t>(1, clusters_at_once(p.blocks, multiprocessors));
    for (int tile = 16; tile <= P::kMaxRows; tile += 16) {
      p.rows = tile;
      p.tiles = (rows + tile - 1) / tile;
      p.clusters = std::min(p.tiles, at_once);
      if (!fits(p, static_cast<int>(classes))) continue;
      p.us = expected_us(p);
      if (best.rows == 0 || p.us < best.us) best = p;
    }
  }
  return best;
}

}  // namespace headroom
