// Products of matrices on tensor cores: m x n results over a reduction of k, weights read from memory.
#include <algorithm>

#include "base/error.h"
#include "timing/forms.h"
#include "timing/tile_time.h"

namespace headroom {
namespace {

// Memory time of operands in L2, and the share of L2 that can hold them, as rows of an L40S show.
constexpr double kShareFromL2 = 0.36, kFillOfL2 = 1;

// Constants after those that all products share.
enum : std::size_t {
  kCachedShare = TileIndex::count,
  kCachedWeights,
  kCachedOthers,
  kQuantizeLaunches,
  kQuantizePasses,
  kQuantizeRowCycles
};

constexpr int kSplits[] = {1, 2, 4, 8, 16, 32, 64};

std::vector<Tile> gemm_tiles() {
  std::vector<Tile> tiles;
  for (const int m : {16, 32, 64, 128, 256})
    for (const int n : {64, 128, 256}) tiles.push_back({m, n});
  return tiles;
}

std::vector<Constant> gemm_constants(bool quantized) {
  std::vector<Constant> list = {
      {"compute_share", 0.95, 0.4, 1.2, "of the peak of a multiprocessor, for large tiles"},
      {"memory_share", 0.81, 0.4, 1.0, "of the memory bandwidth"},
      {"start_launches", 0.85, 0.05, 20, "fixed time, in launches of the machine"},
      {"tile_cycles", 1200, 50, 20000, "start and end of a block"},
      {"load_intensity", 70, 5, 500, "FLOP that a multiprocessor can do per byte it loads"},
      {"edge_loss", 0.037, 0.002, 1, "compute lost per 64 / tile edge"},
      {"split_cycles", 5000, 100, 200000, "fixed time of adding partial sums"},
      {"split_share", 0.27, 0.01, 4, "of the bytes of partial sums that reach memory"},
      {"long_loss", 0.1, 0.005, 1, "compute lost in kernels long enough to heat the chip"},
      {"wave_overlap", 0.23, 0.02, 1, "of a last, partial wave that is hidden"},
      {"step_cycles", 104, 5, 2000, "least time of a step of 64 along the reduction"},
      {"reload_share", 0.025, 0.001, 1, "of repeated tile loads that miss L2"},
      {"cached_share", 0.9, 0.2, 1, "memory time if all operands are still in L2; 1: they are not"},
      {"cached_weights", 0.17, 0.03, 2, "share of L2 that still holds weights of calls before"},
      {"cached_others", 0.9, 0.1, 2, "the same for activations and results"}};
  if (!quantized) return list;
  list.push_back({"quantize_launches", 0.85, 0.02, 10, "fixed time of quantizing the activations"});
  list.push_back({"quantize_passes", 2, 0.1, 10, "times their bytes pass through memory"});
  list.push_back({"quantize_row_cycles", 14, 0.5, 200, "time per row"});
  return list;
}

class PreparedGemm final : public PreparedRow {
 public:
  PreparedGemm(const TimingRow& row, const Machine& machine)
      : quantized_(row.group == "fp8"), device_(device_rates(machine, row.group)) {
    const double bytes = quantized_ ? 1 : 2;
    product_ = {.rows = row.sizes[0],
                .columns = row.sizes[1],
                .reduction = row.sizes[2],
                .element_bytes = bytes,
                .result_bytes = 2,
                .step = 64};
    static const std::vector<Tile> tiles = gemm_tiles();
    for (const Tile& tile : tiles)
      for (const int splits : kSplits)
        if (splits == 1 || (!quantized_ && product_.reduction >= 128.0 * splits))
          candidates_.push_back(tile_candidate(product_, tile, splits, device_));
  }

  std::size_t candidates() const override { return candidates_.size(); }
  double seconds(std::size_t c, std::span<const double> k) const override {
    return tile_time(candidates_[c], constants(k), device_).total + (quantized_ ? quantize(k) : 0);
  }
  double floor() const override { return product_floor(product_, device_); }
  double cached_seconds(std::span<const double> k) const override {
    std::vector<double> cached(k.begin(), k.end());
    cached[kCachedShare] = std::min(cached[kCachedShare], kShareFromL2);
    cached[kCachedWeights] = cached[kCachedOthers] = kFillOfL2;
    if (quantized_) cached[kQuantizePasses] *= kShareFromL2;
    return fastest(*this, cached).seconds;
  }
  Explanation explain(std::size_t c, std::span<const double> k) const override {
    const TileCandidate& t = candidates_[c];
    std::string choice = fmt::format("tile {}x{}", t.tile.m, t.tile.n);
    if (t.splits > 1) choice += fmt::format(", split {}", t.splits);
    return {choice, t.blocks, t.waves, bound_of(tile_time(t, constants(k), device_), constants(k).start_s)};
  }
  void add_features(std::size_t c, std::vector<double>& features) const override {
    add_tile_features(product_, candidates_[c], device_, features);
  }

 private:
  TileConstants constants(std::span<const double> k) const {
    TileConstants c = tile_constants(k, device_);
    c.cached_share = k[kCachedShare], c.cached_weights = k[kCachedWeights],
    c.cached_others = k[kCachedOthers];
    return c;
  }
  // Activations arrive in 16 bits: they are read, scaled and written in 8 before the product.
  double quantize(std::span<const double> k) const {
    const double bytes = 3 * product_.rows * product_.reduction;
    return k[kQuantizeLaunches] * device_.launch_s +
           smooth_max(k[kQuantizePasses] * bytes / (k[TileIndex::memory_share] * device_.memory),
                      k[kQuantizeRowCycles] * device_.cycle_s * product_.rows);
  }

  bool quantized_;
  DeviceRates device_;
  TiledProduct product_;
  std::vector<TileCandidate> candidates_;
};

class GemmForm final : public KernelForm {
 public:
  std::string name() const override { return "gemm"; }
  const std::vector<Size>& sizes() const override {
    static const std::vector<Size> sizes = {{"m", {}}, {"n", {}}, {"k", {}}};
    return sizes;
  }
  std::string group_column() const override { return "dtype"; }
  const std::vector<std::string>& groups() const override {
    static const std::vector<std::string> groups = {"bf16", "fp16", "fp8"};
    return groups;
  }
  const std::vector<Constant>& constants(const std::string& group) const override {
    static const std::vector<Constant> plain = gemm_constants(false), quantized = gemm_constants(true);
    return group == "fp8" ? quantized : plain;
  }
  std::unique_ptr<PreparedRow> prepare(const TimingRow& row, const Machine& machine,
                                       const Traits&) const override {
    return std::make_unique<PreparedGemm>(row, machine);
  }
};

}  // namespace

const KernelForm& gemm_form() {
  static const GemmForm form;
  return form;
}

}  // namespace headroom
