#include "timing/tile_time.h"

#include <algorithm>

namespace headroom {
namespace {

// FLOP of a multiprocessor after which half of the loss by heat is there: about 500 us of a current GPU.
constexpr double kLongFlops = 3.7e9;

// The share of memory time that is left if a call's operands, `fill` times what L2 keeps, were used just
// before.
double missing(double fill, double cached_share) {
  const double x = fill * fill, misses = x * x / (1 + x * x);
  return cached_share + (1 - cached_share) * misses;
}

}  // namespace

TileCandidate tile_candidate(const TiledProduct& p, const Tile& tile, int splits, const DeviceRates& device) {
  TileCandidate c{.tile = tile, .splits = splits};
  const double across = std::ceil(p.rows / tile.m) * std::ceil(p.columns / tile.n) * p.batch;
  c.blocks = across * splits;
  c.waves = c.blocks / device.sms;
  c.steps = std::ceil(p.reduction / splits / p.step);
  const double length = c.steps * p.step;
  c.compute_s = 2.0 * tile.m * tile.n * length / device.sm_flops();
  c.load_s = (tile.m + tile.n) * length * p.element_bytes / device.sm_flops();
  c.edges = 64.0 / tile.m + 64.0 / tile.n;
  c.bytes = p.bytes();
  c.split_bytes = splits > 1 ? splits * p.batch * p.rows * p.columns * 4 : 0;
  const double loads = c.blocks * (tile.m + tile.n) * length * p.element_bytes;
  c.reload_bytes = std::max(0.0, loads - c.bytes) * c.bytes / (c.bytes + device.l2_bytes);
  const double x = p.flops() / (device.sms * kLongFlops);
  c.long_share = x / (1 + x);
  c.weights_bytes = p.weights_bytes();
  const double l2 = std::max(device.l2_bytes, 1.0);
  c.weights_fill = c.weights_bytes / l2, c.others_fill = (c.bytes - c.weights_bytes) / l2;
  return c;
}

void add_alignments(const TiledProduct& product, std::vector<double>& features) {
  for (const double size : {product.rows, product.columns, product.reduction}) {
    double aligned = 1;
    while (aligned < 64 && std::fmod(size, 2 * aligned) == 0) aligned *= 2;
    features.push_back(aligned);
  }
}

void add_tile_features(const TiledProduct& product, const TileCandidate& c, const DeviceRates& device,
                       std::vector<double>& features) {
  const double ideal = product.flops() / device.flops, memory = product.bytes() / device.memory;
  features.insert(features.end(), {std::log2(ideal), std::log2(memory), std::log2(ideal / memory),
                                   double(c.tile.m), double(c.tile.n), double(c.splits), std::log2(c.waves),
                                   c.waves - std::floor(c.waves), c.waves / std::ceil(c.waves)});
  add_alignments(product, features);
}

double product_floor(const TiledProduct& p, const DeviceRates& device) {
  const double compute = p.flops() / device.flops;
  const double l2 = device.l2_rate > 0 ? p.bytes() / device.l2_rate : 0;
  return std::max({compute, l2, std::max(0.0, p.bytes() - device.l2_bytes) / device.memory});
}

TileConstants tile_constants(std::span<const double> k, const DeviceRates& device) {
  using I = TileIndex;
  return {.compute_share = k[I::compute_share],
          .memory_share = k[I::memory_share],
          .start_s = k[I::start_launches] * device.launch_s,
          .tile_s = k[I::tile_cycles] * device.cycle_s,
          .load_intensity = k[I::load_intensity],
          .edge_loss = k[I::edge_loss],
          .split_s = k[I::split_cycles] * device.cycle_s,
          .split_share = k[I::split_share],
          .long_loss = k[I::long_loss],
          .wave_overlap = k[I::wave_overlap],
          .step_s = k[I::step_cycles] * device.cycle_s,
          .reload_share = k[I::reload_share]};
}

TileTime tile_time(const TileCandidate& c, const TileConstants& k, const DeviceRates& device) {
  TileTime t;
  const double slow = (1 + k.edge_loss * c.edges) * (1 + k.long_loss * c.long_share) / k.compute_share;
  const double compute = c.compute_s * slow, load = c.load_s * k.load_intensity, latency = c.steps * k.step_s;
  const double tile = std::max(smooth_max(compute, load), latency);
  const double waves = c.waves < 1 ? 1 : (1 - k.wave_overlap) * std::ceil(c.waves) + k.wave_overlap * c.waves;
  double each = waves * tile;
  if (k.lone_share > 0)
    each = std::max(each, tile / std::min(1.0, k.lone_share * c.tile.m * c.tile.n / 16384));
  t.compute = waves * compute, t.load = waves * load, t.latency = waves * (latency + k.tile_s);
  t.blocks = each + waves * k.tile_s;
  const double bytes = c.bytes + k.split_share * c.split_bytes + k.reload_share * c.reload_bytes;
  double memory = bytes / (k.memory_share * device.memory);
  if (k.cached_share < 1) {
    const double weights = c.weights_bytes / bytes;
    memory *= weights * missing(c.weights_fill / k.cached_weights, k.cached_share) +
              (1 - weights) * missing(c.others_fill / k.cached_others, k.cached_share);
  }
  t.memory = memory;
  t.total = k.start_s + smooth_max(t.blocks, memory) + (c.splits > 1 ? k.split_s : 0);
  return t;
}

std::string bound_of(const TileTime& t, double start_s) {
  const double inner = std::max({t.compute, t.load, t.latency, t.memory});
  if (start_s > inner) return "launch";
  if (inner == t.memory) return "memory";
  if (inner == t.compute) return "compute";
  return inner == t.load ? "load" : "latency";
}

}  // namespace headroom
