// fp32 products without tensor cores: linear layers (batch 1) and batched products.
#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "base/text.h"
#include "timing/fit.h"
#include "timing/forms.h"
#include "timing/tile_time.h"

namespace headroom {
namespace {

// Constants after those that all products share.
enum : std::size_t { kLoneShare = TileIndex::count, kUnalignedLoss, kSpanLoss, kHeatMflop };

constexpr double kMinTileShare = 0.03;  // of the rows: rarer tiles are exceptions
constexpr std::size_t kMinTriedRows = 10, kTriedRows = 150;
constexpr int kFirstVolta = 70, kP100 = 60;
constexpr double kLongSpan = 32768;  // values of the reduction
constexpr const char *kSingle = "single_tiles", *kBatched = "batched_tiles";

// The tile in a kernel's name: "volta_sgemm_128x64_nn" computes 128 along the output width by 64 along m.
std::optional<Tile> tile_in(std::string_view name) {
  for (std::size_t x = name.find('x'); x != name.npos; x = name.find('x', x + 1)) {
    std::size_t begin = x, end = x + 1;
    while (begin > 0 && std::isdigit(static_cast<unsigned char>(name[begin - 1]))) --begin;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    int width = 0, height = 0;
    std::from_chars(name.data() + begin, name.data() + x, width);
    std::from_chars(name.data() + x + 1, name.data() + end, height);
    if (width >= 8 && height >= 8 && width <= 1024 && height <= 1024) return Tile{height, width};
  }
  return std::nullopt;
}

std::string text_of(const Tile& tile) { return fmt::format("{}x{}", tile.n, tile.m); }

// The tiles {m, n} that libraries use from a compute capability on, as kernel names in the public table show
// them. Batched products get few of them, not the best one.
struct GenerationTiles {
  int compute_capability;
  std::vector<Tile> single, batched;
};

const std::vector<Tile>& usual_tiles(int compute_capability, bool batched) {
  static const std::vector<GenerationTiles> generations = {
      {80, {{32, 32}, {32, 64}, {32, 128}, {128, 32}, {64, 128}, {128, 128}}, {{128, 128}}},
      {75, {{64, 64}, {64, 128}, {128, 128}}, {{64, 64}, {32, 128}, {64, 128}}},
      {70,
       {{32, 32}, {32, 64}, {32, 128}, {128, 32}, {64, 128}, {128, 128}},
       {{64, 64}, {32, 128}, {128, 32}}},
      {61, {{64, 64}, {32, 128}, {128, 32}, {128, 128}}, {{64, 128}}},
      {60, {{64, 64}, {32, 128}, {128, 32}}, {{64, 128}}},
      {0, {{64, 64}, {32, 128}, {128, 32}, {128, 128}}, {{64, 128}}}};
  const auto own = std::ranges::find_if(generations, [&](const GenerationTiles& generation) {
    return compute_capability >= generation.compute_capability;
  });
  return batched ? own->batched : own->single;
}

std::vector<Tile> tiles_from(const Traits& traits, int compute_capability, bool batched) {
  std::vector<Tile> tiles;
  if (const auto found = traits.find(batched ? kBatched : kSingle); found != traits.end())
    for (const std::string& text : found->second)
      if (const auto tile = tile_in(text)) tiles.push_back(*tile);
  return tiles.empty() ? usual_tiles(compute_capability, batched) : tiles;
}

std::vector<Constant> linear_constants() {
  return {{"compute_share", 0.95, 0.4, 1.2, "of the peak of a multiprocessor, for large tiles"},
          {"memory_share", 0.81, 0.3, 1.0, "of the memory bandwidth"},
          {"start_launches", 10, 0.5, 50, "fixed time, in launches of the machine", true},
          {"tile_cycles", 1200, 50, 20000, "start and end of a block of 128x128; smaller ones overlap"},
          {"load_intensity", 8, 0.5, 100, "FLOP that a multiprocessor can do per byte it loads"},
          {"edge_loss", 0.1, 0.002, 1, "compute lost per 64 / tile edge"},
          {"split_cycles", 5000, 100, 200000, "fixed time of adding partial sums"},
          {"split_share", 0.27, 0.01, 4, "of the bytes of partial sums that reach memory"},
          {"long_loss", 0.03, 0.002, 0.15, "compute lost in kernels long enough to heat the chip"},
          {"wave_overlap", 0.23, 0.02, 1, "of a last, partial wave that is hidden"},
          {"step_cycles", 140, 10, 2000, "least time of a step of 8 along the reduction"},
          {"reload_share", 0.025, 0.001, 1, "of repeated tile loads that miss L2"},
          {"lone_share", 0.7, 0.1, 4, "of a multiprocessor that one block of 128x128 can use"},
          {"unaligned_loss", 1, 0, 0,
           "where L1 does not keep loads: those of linear layers with rows off cache lines"},
          {"span_loss", 1, 0.01, 20, "Pascal and older: loads of linear layers over a reduction of 32,768"},
          {"heat_mflop", 15, 1, 1000,
           "of a multiprocessor, after which half of the loss by the power limit is there"}};
}

class PreparedLinear final : public PreparedRow {
 public:
  PreparedLinear(const TimingRow& row, const Machine& machine, const Traits& traits)
      : device_(device_rates(machine, "fp32")) {
    peak_ = device_.flops;
    device_.flops = unthrottled_fp32(machine, peak_);
    power_slowdown_ = device_.flops / sustained_fp32(machine, peak_);
    // n is the reduction and k the width of the output.
    product_ = {.batch = row.sizes[0],
                .rows = row.sizes[1],
                .columns = row.sizes[3],
                .reduction = row.sizes[2],
                .element_bytes = 4,
                .result_bytes = 4,
                .step = 8};
    const bool batched = product_.batch > 1;
    const int cc = machine.compute_capability;
    if (!batched && cc < kFirstVolta) {
      span_ = product_.reduction / kLongSpan;
      unaligned_ = cc != kP100 && std::fmod(product_.reduction, 32) != 0;
    }
    for (const Tile& tile : tiles_for_call(tiles_from(traits, cc, batched), cc))
      for (int splits = 1; splits <= (batched ? 1 : 32); splits *= 2)
        if (splits == 1 || product_.reduction >= 64.0 * splits)
          candidates_.push_back(tile_candidate(product_, tile, splits, device_));
  }

  std::size_t candidates() const override { return candidates_.size(); }
  double seconds(std::size_t c, std::span<const double> k) const override {
    return tile_time(candidates_[c], constants(k, candidates_[c]), device_).total;
  }
  double floor() const override {
    DeviceRates device = device_;
    device.flops = peak_;
    return product_floor(product_, device);
  }
  Explanation explain(std::size_t c, std::span<const double> k) const override {
    const TileCandidate& t = candidates_[c];
    std::string choice = fmt::format("tile {}x{}", t.tile.m, t.tile.n);
    if (t.splits > 1) choice += fmt::format(", split {}", t.splits);
    const TileConstants own = constants(k, t);
    return {choice, t.blocks, t.waves, bound_of(tile_time(t, own, device_), own.start_s)};
  }
  void add_features(std::size_t c, std::vector<double>& features) const override {
    add_tile_features(product_, candidates_[c], device_, features);
  }

 private:
  // Before Volta, the kernel of 128x128 loads vectors: linear layers off cache lines do not get it.
  std::vector<Tile> tiles_for_call(std::vector<Tile> tiles, int compute_capability) const {
    const bool aligned = std::fmod(product_.reduction, 32) == 0 && std::fmod(product_.rows, 32) == 0;
    if (product_.batch == 1 && compute_capability < kFirstVolta && !aligned && tiles.size() > 1)
      std::erase(tiles, Tile{128, 128});
    return tiles;
  }

  TileConstants constants(std::span<const double> k, const TileCandidate& candidate) const {
    TileConstants c = tile_constants(k, device_);
    c.lone_share = k[kLoneShare];
    c.tile_s *= std::sqrt(candidate.tile.m * candidate.tile.n) / 128;
    if (unaligned_) c.load_intensity *= 1 + k[kUnalignedLoss];
    c.load_intensity *= 1 + k[kSpanLoss] * span_;
    // A multiprocessor whose neighbours idle runs at full rate.
    const double slowdown = power_slowdown_ * std::min(1.0, candidate.waves);
    if (slowdown > 1) {
      const double work = product_.flops() / device_.sms, heat = work / (work + 1e6 * k[kHeatMflop]);
      c.compute_share /= 1 + (slowdown - 1) * heat;
    }
    return c;
  }

  DeviceRates device_;
  double peak_ = 0;
  double power_slowdown_ = 1;  // of a long kernel
  // Linear layers read both operands along the reduction.
  bool unaligned_ = false;
  double span_ = 0;  // 0: long rows cost nothing
  TiledProduct product_;
  std::vector<TileCandidate> candidates_;
};

// The tiles that the library uses, for batched and single products apart; rare ones are left out.
std::vector<std::string> common_tiles(std::span<const TimingRow> rows, bool batched) {
  std::vector<std::pair<Tile, double>> counts;
  double all = 0;
  for (const TimingRow& row : rows) {
    if ((row.sizes[0] > 1) != batched) continue;
    const auto tile = tile_in(row.kernel_name);
    if (!tile) continue;
    all += 1;
    const auto found = std::ranges::find(counts, *tile, &std::pair<Tile, double>::first);
    if (found == counts.end())
      counts.emplace_back(*tile, 1);
    else
      found->second += 1;
  }
  std::vector<std::string> tiles;
  for (const auto& [tile, count] : counts)
    if (count > kMinTileShare * all) tiles.push_back(text_of(tile));
  std::ranges::sort(tiles);
  return tiles;
}

// Without names of kernels: the set of tiles that a short fit explains the measured times with best.
// Libraries use one tile for nearly all batched products, so single tiles are tried, too.
std::vector<std::string> tried_tiles(std::span<const TimingRow> rows, bool batched, const Machine& machine) {
  std::vector<TimingRow> own;
  for (const TimingRow& row : rows)
    if ((row.sizes[0] > 1) == batched && row.us > 0 && own.size() < kTriedRows) own.push_back(row);
  if (own.size() < kMinTriedRows) return {};
  std::vector<std::string> all, best;
  static const std::vector<Tile> tried = {{32, 32}, {32, 64},  {32, 128}, {64, 32},
                                          {64, 64}, {64, 128}, {128, 32}, {128, 128}};
  for (const Tile& tile : tried) all.push_back(text_of(tile));
  std::vector<std::vector<std::string>> sets = {all};
  for (const std::string& tile : all) sets.push_back({tile});
  double least = INFINITY;
  for (const std::vector<std::string>& tiles : sets) {
    PreparedRows prepared;
    for (const TimingRow& row : own) {
      prepared.rows.push_back(
          std::make_shared<PreparedLinear>(row, machine, Traits{{batched ? kBatched : kSingle, tiles}}));
      prepared.measured_s.push_back(row.us * 1e-6);
    }
    const auto constants = fit_constants(linear_constants(), prepared, {.starts = 1, .rounds = 1});
    if (const double error = mean_error(prepared, constants); error < least) least = error, best = tiles;
  }
  return best;
}

class LinearForm final : public KernelForm {
 public:
  std::string name() const override { return "linear"; }
  const std::vector<Size>& sizes() const override {
    static const std::vector<Size> sizes = {{"batch", {}}, {"m", {}}, {"n", {}}, {"k", {}}};
    return sizes;
  }
  std::string group_column() const override { return "dtype"; }
  const std::vector<std::string>& groups() const override {
    static const std::vector<std::string> groups = {"fp32"};
    return groups;
  }
  const std::vector<Constant>& constants(const std::string&) const override {
    static const std::vector<Constant> constants = linear_constants();
    return constants;
  }
  Traits learn_traits(std::span<const TimingRow> rows, const Machine& machine) const override {
    Traits traits;
    for (const bool batched : {false, true}) {
      std::vector<std::string> tiles = common_tiles(rows, batched);
      if (tiles.empty()) tiles = tried_tiles(rows, batched, machine);
      if (!tiles.empty()) traits[batched ? kBatched : kSingle] = std::move(tiles);
    }
    return traits;
  }
  std::unique_ptr<PreparedRow> prepare(const TimingRow& row, const Machine& machine,
                                       const Traits& traits) const override {
    return std::make_unique<PreparedLinear>(row, machine, traits);
  }
};

}  // namespace

const KernelForm& linear_form() {
  static const LinearForm form;
  return form;
}

}  // namespace headroom
