// fp32 convolutions without tensor cores: the fastest of the algorithms that a library has for the call.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/text.h"
#include "timing/conv2d_algorithms.h"
#include "timing/forms.h"
#include "timing/tile_time.h"

namespace headroom {
namespace {

// Places in conv2d_constants.
struct ConvConstant {
  enum : std::size_t {
    kStart,
    kEarlyHost,
    kFusedStart,
    kUnfusedStart,
    kBlock,
    kStep,
    kImplicit,
    kFused,
    kGemm,
    kMemory,
    kLoad,
    kEdge,
    kOverlap,
    kReload,
    kPower,
    kFft,
    kUntiled
  };
};

// Rows of public tables have 3x3 kernels of stride 1 only: nothing there tells the last two. `early_host` is
// the ratio between the public rows of two Pascal devices and those of a Volta and a Turing; on one device it
// cannot be told from the fixed time.
const std::vector<Constant>& conv2d_constants() {
  static const std::vector<Constant> list = {
      {"start_launches", 65, 2, 1000, "fixed time of a call, in launches of the machine"},
      {"early_host", 2, 0, 0,
       "factor of that before compute capability 7.0: such devices sit in older hosts"},
      {"fused_launches", 7, 0.3, 100, "added if the filter is transformed first"},
      {"unfused_launches", 10, 0.3, 200, "added if image, filter and result are transformed"},
      {"block_cycles", 1600, 50, 20000, "start and end of a block"},
      {"step_cycles", 140, 10, 1000, "least time of a step of 8 along the reduction"},
      {"implicit_share", 0.85, 0.2, 1.1, "of the sustained rate, implicit GEMM"},
      {"fused_share", 0.8, 0.2, 1.1, "of the sustained rate, fused Winograd"},
      {"gemm_share", 0.85, 0.2, 1.1,
       "of the sustained rate, products of unfused Winograd and of 1x1 kernels"},
      {"memory_share", 0.5, 0.2, 1.0, "of the memory bandwidth"},
      {"load_intensity", 2, 0.1, 50, "FLOP that a multiprocessor can do per byte it loads"},
      {"edge_loss", 0.055, 0.002, 1, "compute lost per 64 / tile edge"},
      {"wave_overlap", 0.3, 0.02, 1, "of a last, partial wave that is hidden"},
      {"reload_share", 0.06, 0.001, 1, "of repeated loads that miss L2"},
      {"power_share", 1.35, 0.5, 4, "of the rate that a board of low power sustains in long products"},
      {"fft_share", 0.6, 0, 0, "of the sustained rate, products of spectra; assumed"},
      {"untiled_share", 0.25, 0, 0, "of the sustained rate, direct and depthwise kernels; assumed"}};
  return list;
}

class PreparedConv2d final : public PreparedRow {
  using Kind = Conv2dAlgorithm::Kind;
  using At = ConvConstant;

 public:
  PreparedConv2d(const TimingRow& row, const Machine& machine)
      : call_(conv2d_call(row)),
        device_(device_rates(machine, "fp32")),
        early_(machine.compute_capability < 70) {
    peak_ = device_.flops;
    device_.flops = unthrottled_fp32(machine, peak_);
    power_ratio_ = sustained_fp32(machine, std::numeric_limits<double>::infinity()) / device_.flops;
    algorithms_ = conv2d_algorithms(call_, early_);
    for (const Conv2dAlgorithm& a : algorithms_) tiles_.push_back(tile_of(a));
  }

  std::size_t candidates() const override { return algorithms_.size(); }
  double seconds(std::size_t c, std::span<const double> k) const override {
    const TileTime time = main_kernel(c, k);
    return start(c, k) + transforms(c, k) + smooth_max(time.blocks, time.memory);
  }
  double floor() const override {
    // Winograd and FFT save multiplications within an image, none across channels.
    const double multiply_adds = call_.multiply_adds() / call_.taps();
    return std::max(2 * multiply_adds / peak_,
                    std::max(0.0, call_.bytes() - device_.l2_bytes) / device_.memory);
  }
  Explanation explain(std::size_t c, std::span<const double> k) const override {
    const Conv2dAlgorithm& a = algorithms_[c];
    TileTime time = main_kernel(c, k);
    time.memory += transforms(c, k);
    return {fmt::format("{}{}, {}", a.folded ? "folded stride, " : "", algorithm_name(a.kind), a.tile),
            a.blocks, tiles_[c].waves, bound_of(time, start(c, k))};
  }
  void add_features(std::size_t c, std::vector<double>& features) const override {
    const TileCandidate& t = tiles_[c];
    const double compute = 2 * call_.multiply_adds() / device_.flops, memory = call_.bytes() / device_.memory;
    for (const double x :
         {std::log2(compute), std::log2(memory), std::log2(compute / memory), double(algorithms_[c].kind),
          t.edges, std::log2(t.waves), t.waves - std::floor(t.waves), t.waves / std::ceil(t.waves),
          std::log2(t.waves * t.compute_s), std::log2(call_.pixels_out()), std::log2(call_.weight_bytes())})
      features.push_back(x);
  }

 private:
  TileCandidate tile_of(const Conv2dAlgorithm& a) const {
    TileCandidate t{.blocks = a.blocks, .waves = a.blocks / device_.sms, .steps = a.steps};
    t.compute_s = a.block_flops / device_.sm_flops();
    t.load_s = a.block_loads / device_.sm_flops();
    t.edges = a.tile_edges;
    t.bytes = a.bytes, t.split_bytes = a.split_bytes;
    t.reload_bytes =
        std::max(0.0, a.blocks * a.block_loads - a.bytes) * a.bytes / (a.bytes + device_.l2_bytes);
    return t;
  }
  // The power limit bounds the sum of all blocks; a multiprocessor whose neighbours idle runs at full rate.
  TileTime main_kernel(std::size_t c, std::span<const double> k) const {
    const TileCandidate& t = tiles_[c];
    TileTime time = tile_time(t, constants(c, k), device_);
    const double full_rate =
        t.waves * t.compute_s * (1 + k[At::kEdge] * t.edges) / share(algorithms_[c].kind, k);
    const double limited = full_rate / (k[At::kPower] * power_ratio_);
    time.blocks = std::max(time.blocks, limited), time.compute = std::max(time.compute, limited);
    return time;
  }
  double start(std::size_t c, std::span<const double> k) const {
    double launches = k[At::kStart] * (early_ ? k[At::kEarlyHost] : 1);
    const Conv2dAlgorithm& a = algorithms_[c];
    if (a.kind == Kind::kFusedWinograd) launches += k[At::kFusedStart];
    if (a.kind == Kind::kUnfusedWinograd || a.kind == Kind::kFft) launches += k[At::kUnfusedStart];
    if (a.folded || a.split_bytes > 0) launches += k[At::kFusedStart];
    return launches * device_.launch_s;
  }
  double transforms(std::size_t c, std::span<const double> k) const {
    return algorithms_[c].transform_bytes / (k[At::kMemory] * device_.memory);
  }
  static double share(Kind kind, std::span<const double> k) {
    switch (kind) {
      case Kind::kImplicitGemm:
        return k[At::kImplicit];
      case Kind::kFusedWinograd:
        return k[At::kFused];
      case Kind::kGemm:
      case Kind::kUnfusedWinograd:
        return k[At::kGemm];
      case Kind::kFft:
        return k[At::kFft];
      case Kind::kDirect:
      case Kind::kDepthwise:
        return k[At::kUntiled];
    }
    return 1;
  }
  TileConstants constants(std::size_t c, std::span<const double> k) const {
    return {.compute_share = share(algorithms_[c].kind, k),
            .memory_share = k[At::kMemory],
            .start_s = 0,
            .tile_s = k[At::kBlock] * device_.cycle_s,
            .load_intensity = k[At::kLoad],
            .edge_loss = k[At::kEdge],
            .split_s = 0,
            .split_share = 1,
            .long_loss = 0,
            .wave_overlap = k[At::kOverlap],
            .step_s = k[At::kStep] * device_.cycle_s,
            .reload_share = k[At::kReload],
            .cached_share = 1};
  }

  Conv2dCall call_;
  DeviceRates device_;
  bool early_;
  double peak_ = 0;
  double power_ratio_ = 1;  // rate that the board's power allows in long products / rate without that limit
  std::vector<Conv2dAlgorithm> algorithms_;
  std::vector<TileCandidate> tiles_;
};

class Conv2dForm final : public KernelForm {
 public:
  std::string name() const override { return "conv2d"; }
  const std::vector<Size>& sizes() const override { return conv2d_sizes(); }
  std::string group_column() const override { return "dtype"; }
  const std::vector<std::string>& groups() const override {
    static const std::vector<std::string> groups = {"fp32"};
    return groups;
  }
  const std::vector<Constant>& constants(const std::string&) const override { return conv2d_constants(); }
  void check(const TimingRow& row, const std::string& where) const override { conv2d_call(row, where); }
  std::unique_ptr<PreparedRow> prepare(const TimingRow& row, const Machine& machine,
                                       const Traits&) const override {
    return std::make_unique<PreparedConv2d>(row, machine);
  }
};

}  // namespace

const KernelForm& conv2d_form() {
  static const Conv2dForm form;
  return form;
}

}  // namespace headroom
