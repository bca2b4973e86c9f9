// Few channels in ordinary fp32 arithmetic: there is too little to sum over for the tensor cores.
#include <algorithm>
#include <cstdlib>
#include <optional>

#include "ops/conv2d/cuda/few_channels.h"
#include "ops/conv2d/cuda/shared.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// few_channels.cu: y = f(x * w + bias), or dx from dy, whichever the sweep describes.
void conv2d_few_channels(DType dtype, const Sweep& s, const FewChannelsPlan& q, const void* x, const void* w,
                         const void* bias, void* y, cudaStream_t stream);
// few_channels_weight.cu: dw, for the sweep of the forward product, in two launches.
void conv2d_few_channels_weight(DType dtype, const Sweep& s, const FewChannelsPlan& q, const void* x,
                                const void* dy, void* dw, void* partial, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::divide_by;
using cuda::FewChannelsPlan;
using cuda::Sweep;

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int round_up(int a, int to) { return ceil_div(a, to) * to; }
// Rows an odd multiple of four words apart: 16-byte reads of eight of them touch every bank once.
constexpr int odd_quads(int words) { return round_up(words, 4) + (round_up(words, 4) % 8 == 0 ? 4 : 0); }

const char* refusal(const Sweep& s) {
  constexpr int kMax = 1 << 14;
  if (s.channels > cuda::kFewChannels) return "more than 3 channels in a group: tensor cores are faster";
  if (s.maps < 3) return "fewer than 3 maps in a group: registers would stay unused";
  if (s.maps > 32) return "more than 32 maps in a group: tensor cores are faster";
  if (s.mul_h != 1 || s.mul_w != 1 || s.div_h != 1 || s.div_w != 1) return "needs stride 1";
  if (std::abs(s.step_h) != 1 || std::abs(s.step_w) != 1) return "takes no dilation";
  if (s.kernel_w != 3 && s.kernel_w != 5 && s.kernel_w != 7) return "takes windows of width 3, 5 or 7";
  if (std::max({s.in_h, s.in_w, s.out_h, s.out_w}) >= kMax || s.groups > 65535 ||
      std::int64_t{s.maps} * s.out_plane() > 1 << 30)
    return "larger than its 32-bit indices";
  return nullptr;
}

void set_view(const Sweep& s, int rows, FewChannelsPlan& q) {
  q.rows = rows;
  q.bands = ceil_div(s.out_h, rows);
  q.view_h = rows + s.kernel_h - 1;
  q.view_w = s.out_w + s.kernel_w - 1;
  q.top = s.off_h + std::min(0, (s.kernel_h - 1) * s.step_h);
  q.left = s.off_w + std::min(0, (s.kernel_w - 1) * s.step_w);
}

void finish(const Sweep& s, int blocks, FewChannelsPlan& q) {
  q.tiles = s.batch * q.bands;
  // As many as stay busy equally long.
  q.workers = ceil_div(q.tiles, ceil_div(q.tiles, std::max(1, blocks)));
  q.by_columns = divide_by(q.columns);
  q.by_view_h = divide_by(q.view_h);
  q.by_rows = divide_by(q.rows);
}

// The least bands from which there is a block for everyone and the tile fits, then those around it that
// waste least; `cost` tells of a plan, or a negative number where it does not fit.
template <class Cost>
bool cut(const Sweep& s, int wanted_tiles, int least_rows, int even, FewChannelsPlan& best,
         const Cost& cost) {
  const int least = std::clamp(ceil_div(wanted_tiles, s.batch), 1, std::max(1, s.out_h / least_rows));
  double lowest = -1;
  for (int bands = least, tried = 0, last = 0; bands <= s.out_h && tried < 12; ++bands) {
    const int rows = round_up(ceil_div(s.out_h, bands), even);
    if (rows == last) continue;
    last = rows;
    FewChannelsPlan q = best;
    set_view(s, rows, q);
    const double here = cost(q);
    if (here < 0) continue;
    ++tried;
    if (lowest < 0 || here < lowest) lowest = here, best = q;
  }
  return lowest >= 0;
}

// Null where the shape is not one for ordinary arithmetic; `why` then says so.
std::optional<FewChannelsPlan> plan_sweep(const Sweep& s, const Target& target, std::string& why) {
  if (const char* no = refusal(s)) return why = no, std::nullopt;
  FewChannelsPlan q{};
  q.columns = ceil_div(s.out_w, cuda::kFewColumns);
  q.chunks = ceil_div(s.maps, cuda::kFewMaps);
  const int most = shared_bytes(target), sms = processors(target);
  const auto cost_within = [&](int budget) {
    return [&s, budget](FewChannelsPlan& p) -> double {
      p.pitch = round_up(p.view_w, 2);
      p.plane = p.view_h * p.pitch;
      const std::int64_t items = std::int64_t{p.rows / 2} * p.columns * p.chunks;
      if (items >= 1 << 16 || std::int64_t{s.channels} * p.plane >= 1 << 16) return -1;
      p.items = static_cast<int>(items);
      p.threads = round_up(ceil_div(p.items, ceil_div(p.items, cuda::kFewThreads)), 32);
      // A row and a register tile may be read past the end; they make outputs that are not stored.
      const int words = p.chunks * (s.depth() * 8 + 8) + s.channels * p.plane + p.pitch + 16;
      p.bytes = 4 * (round_up(words, 4) + p.threads / 32 * cuda::kFewStage);
      if (p.bytes > budget) return -1;
      return double(p.bands) * (round_up(p.items, p.threads) + 8);
    };
  };
  const int wanted = ceil_div(sms, s.groups);
  if (!cut(s, wanted, 8, 2, q, cost_within(most / 2 - 1024)) && !cut(s, wanted, 2, 2, q, cost_within(most)))
    return why = "a band of the image does not fit into shared memory", std::nullopt;
  q.by_chunk = divide_by(q.items / q.chunks);
  finish(s, std::clamp((most + 1024) / (q.bytes + 1024), 1, 512 / q.threads) * sms / s.groups, q);
  return q;
}

std::optional<FewChannelsPlan> plan_weight_gradient(const Sweep& s, const Target& target, std::string& why) {
  if (const char* no = refusal(s)) return why = no, std::nullopt;
  FewChannelsPlan q{};
  q.columns = ceil_div(s.out_w, 4);
  q.chunks = ceil_div(s.maps, cuda::kFewWeightMaps);
  q.items = q.chunks * s.channels * s.kernel_h;
  if (q.items > cuda::kFewWeightThreads) return why = "more rows of taps than threads", std::nullopt;
  const int most = shared_bytes(target), sms = processors(target);
  const auto cost_within = [&](int budget) {
    return [&s, budget](FewChannelsPlan& p) -> double {
      p.pitch = odd_quads(std::max(p.view_w, 4 * p.columns + cuda::few_kept(s.kernel_w)));
      p.plane = p.view_h * p.pitch;
      p.dy_pitch = odd_quads(4 * p.columns);
      p.dy_plane = odd_quads(p.rows * p.dy_pitch);
      const int most_shares = cuda::kFewWeightThreads / p.items;
      p.shares = ceil_div(p.rows, ceil_div(p.rows, most_shares));
      p.threads = round_up(p.items * p.shares, 32);
      const std::int64_t words =
          std::int64_t{s.channels} * p.plane + std::int64_t{p.chunks} * cuda::kFewWeightMaps * p.dy_plane;
      const std::int64_t sums = std::int64_t{p.items} * p.shares * cuda::kFewWeightMaps * s.kernel_w;
      if (4 * std::max(words, sums) > budget) return -1;
      if (s.channels * p.view_h >= 1 << 15 || p.chunks * cuda::kFewWeightMaps * p.rows >= 1 << 15) return -1;
      p.bytes = static_cast<int>(4 * std::max(words, sums));
      const int last = s.out_h - (p.bands - 1) * p.rows;
      const double rounds = (p.bands - 1) * ceil_div(p.rows, p.shares) + ceil_div(last, p.shares);
      return (rounds + 0.5 * p.bands) * std::max(4, p.threads / 32);  // more warps than four: in turns
    };
  };
  const int wanted = ceil_div(sms, s.groups);
  if (!cut(s, wanted, 8, 1, q, cost_within(most / 2 - 1024)) && !cut(s, wanted, 1, 1, q, cost_within(most)))
    return why = "a band of the image does not fit into shared memory", std::nullopt;
  q.by_chunk = divide_by(s.channels * s.kernel_h);
  finish(s, std::clamp((most + 1024) / (q.bytes + 1024), 1, std::min(4, 640 / q.threads)) * sms / s.groups,
         q);
  return q;
}

std::optional<FewChannelsPlan> plan_of(const Problem& p, const Target& target, std::string& why) {
  const Sweep s = sweep_of(p);
  return is_weight_gradient(p) ? plan_weight_gradient(s, target, why) : plan_sweep(s, target, why);
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  const DType dtype = p.outputs[0].dtype;
  if (dtype == DType::f64) return refuse("images are held in fp32");
  if (target.device.compute_capability < 80) return refuse("its copies need compute capability 8.0");
  const Sweep s = sweep_of(p);
  if ((dtype != DType::f32 || target.policy.tf32) && s.maps > 16 && s.depth() >= 64)
    return refuse("more than 16 maps of 64 products, rounded: tensor cores are faster");
  std::string why;
  return plan_of(p, target, why) ? accept() : refuse(why);
}

std::size_t workspace(const Problem& p, const Target& target) {
  if (!is_weight_gradient(p)) return 0;
  std::string why;
  const auto plan = plan_of(p, target, why);
  return bytes_of_pieces(p, plan ? plan->workers : 1);
}

// The share of the products that are wanted: register tiles also cover maps, columns and rows beyond the
// last.
double useful_share(const Sweep& s, const FewChannelsPlan& q, bool weight_gradient) {
  const double rows = double(s.out_h) / double(q.bands * q.rows);
  if (weight_gradient)
    return rows * double(s.maps) / double(cuda::kFewWeightMaps * q.chunks) * double(s.out_w) /
           double(4 * q.columns);
  return rows * double(s.maps) / double(cuda::kFewMaps * q.chunks) * double(s.out_w) /
         double(cuda::kFewColumns * q.columns);
}

// Warps compute whole register tiles of 2 rows, 6 columns and 6 maps, one for each lane.
double executed_of(const Sweep& s, const FewChannelsPlan& q) {
  constexpr int kOutputs = 2 * cuda::kFewColumns * cuda::kFewMaps;
  return 2.0 * q.tiles * s.groups * round_up(q.items, 32) * kOutputs * s.depth();
}
// Threads slide along whole quads of columns; sums are added up over tiles and over shares of the rows.
double executed_of_weights(const Sweep& s, const FewChannelsPlan& q) {
  const double sums = double(cuda::kFewWeightMaps) * s.kernel_w,
               lines = double(s.batch) * s.out_h * q.items * q.columns * 4;
  return s.groups * sums * (2 * lines + double(q.tiles) * q.threads + double(q.workers) * q.items * q.shares);
}

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with("gpu.conv.few_channels", ordinary_unit(p.outputs[0].dtype), extent_of(p));
  std::string why;
  if (const auto plan = plan_of(p, target, why)) {
    const Sweep s = sweep_of(p);
    work.main().tile = {std::int64_t{plan->rows} * s.out_w, s.maps, s.depth()};
    work.main().blocks = std::int64_t{plan->workers} * s.groups;
    work.main().useful = useful_share(s, *plan, is_weight_gradient(p));
    // Bands of rows overlap by the height of the windows.
    const double views = double(plan->tiles) * plan->view_h * s.in_w * s.channels * s.groups;
    work.main().l2_bytes = work.bytes() + std::max(0.0, views * double(size_of(p.inputs[0].dtype)) -
                                                            double(p.inputs[0].bytes()));
    work.main().executed = is_weight_gradient(p) ? executed_of_weights(s, *plan) : executed_of(s, *plan);
  }
  return with_pieces(p, std::move(work), workspace(p, target));
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext& context) {
  const Sweep s = sweep_of(p);
  const DType dtype = p.outputs[0].dtype;
  std::string why;
  const FewChannelsPlan plan = plan_of(p, context.target, why).value();
  if (is_weight_gradient(p))
    return [dtype, s, plan](const LaunchArgs& a) {
      cuda::conv2d_few_channels_weight(dtype, s, plan, a.inputs[0], a.inputs[1], a.outputs[0], a.workspace,
                                       cuda::stream_of(a));
    };
  return [dtype, s, plan, bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    cuda::conv2d_few_channels(dtype, s, plan, a.inputs[0], a.inputs[1], bias ? a.inputs[2] : nullptr,
                              a.outputs[0], cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_few_channels() {
  return {.name = "cuda:few_channels",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare),
          .workspace = workspace};
}

}  // namespace headroom
