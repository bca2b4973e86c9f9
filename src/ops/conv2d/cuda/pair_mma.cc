// Images of one channel as pairs of pixels in shared memory: convolution, bias, activation and
// pooling in one launch.
#include <algorithm>

#include "ops/conv2d/cuda/pair_plan.h"
#ifdef HEADROOM_HAS_CUDA
#include "ops/cuda/launch.h"
#endif

namespace headroom {

#ifdef HEADROOM_HAS_CUDA
namespace cuda {

// pair_mma.cu: y = pool(f(x * w + bias)).
void conv2d_pair_mma(DType dtype, const BlockShape& s, const PairPlan& q, const void* x, const void* w,
                     const void* bias, void* y, cudaStream_t stream);

}  // namespace cuda
#endif

namespace {

using cuda::BlockPooling;
using cuda::BlockShape;
using cuda::divide_by;
using cuda::PairPlan;

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

const char* refusal_of_shape(const BlockShape& s) {
  constexpr int kExtent = 1 << 13;
  if (s.channels > 1) return "more than one channel";
  if (std::max(s.kernel_h, s.kernel_w) > cuda::kPairTaps) return "windows of more than 7 x 7";
  if (s.stride_h != 1 || s.stride_w != 1 || s.dilation_h != 1 || s.dilation_w != 1)
    return "takes no strides and no dilation";
  if (std::max({s.in_h, s.in_w, s.conv_h, s.conv_w, s.maps, s.pad_h, s.pad_w}) >= kExtent ||
      std::int64_t{s.maps} * s.out_h * s.out_w >= std::int64_t{1} << 30 ||
      std::int64_t{s.batch} * s.conv_h >= std::int64_t{1} << 30)
    return "larger than its 32-bit indices";
  if (s.pooling == BlockPooling::none) return nullptr;
  if (s.pool_h != 2 || s.pool_w != 2 || s.step_h != 2 || s.step_w != 2) return "pools windows of 2 x 2 alone";
  return 2 * s.out_h > s.conv_h || 2 * s.out_w > s.conv_w ? "a window of pooling hangs over" : nullptr;
}

// Pairs of rows, of two words for each column, begin in such banks that quads at the end of one line and at
// the start of the next read different ones.
int pitch_of(const PairPlan& q) {
  constexpr int banks = cuda::kBlockBanks;
  for (int pitch = q.words_w;; ++pitch)
    if (const int apart = (2 * (pitch - q.quad_w) % banks + banks) % banks; apart >= 6 && apart <= 18)
      return pitch;
}

void set_rows(const BlockShape& s, int rows, PairPlan& q) {
  q.rows = rows;
  q.bands = ceil_div(q.quad_h, rows);
  q.tiles = s.batch * q.bands;
  q.view_rows2 = rows + q.steps - 1;
  q.view_words = 2 * q.view_rows2 * q.pitch;
  const int weights = q.steps * q.columns8 * 32 * (q.split ? 16 : 8);
  q.bytes = weights + 2 * 4 * q.view_words + 128;
}

// Cycles of a multiprocessor, roughly, as those of cuda:block_mma: 1.8 for a product of tensor cores, 1 for a
// word of the view, and 3000 of latencies that the other blocks hide.
double pair_cycles(const PairPlan& q, int slots) {
  const double fragments = ceil_div(q.rows * q.quad_w, 32) * 4.0;
  const double products = (q.split ? 3 : 1) * q.columns8 * q.steps;
  const double tile = fragments * (1.8 * products + 8) + q.view_words + 3000.0 / cuda::kPairBlocks;
  return tile * double((std::int64_t{q.tiles} * q.map_blocks + slots - 1) / slots);
}

}  // namespace

std::optional<PairPlan> pair_plan(const BlockShape& s, bool split, const Target& target, std::string& why) {
  if (const char* no = refusal_of_shape(s)) return why = no, std::nullopt;
  PairPlan start{};
  start.split = split;
  start.steps = std::max(2, s.kernel_h / 2 + 1);
  const int all = ceil_div(s.maps, 4);
  start.map_blocks = ceil_div(all, cuda::kPairColumns8);
  start.columns8 = ceil_div(all, start.map_blocks);
  const bool pooled = s.pooling != BlockPooling::none;
  start.quad_h = pooled ? s.out_h : ceil_div(s.conv_h, 2);
  start.quad_w = pooled ? s.out_w : ceil_div(s.conv_w, 2);
  start.words_w = start.quad_w + 3;
  start.pitch = pitch_of(start);
  const int slots = processors(target) * cuda::kPairBlocks;
  const int budget = (shared_bytes(target) + 1024) / cuda::kPairBlocks - 1024;
  PairPlan best{};
  double lowest = -1;
  for (int rows = start.quad_h; rows >= 1; --rows) {
    PairPlan q = start;
    set_rows(s, rows, q);
    if (q.bytes > budget || ceil_div(start.quad_h, q.bands) != rows) continue;
    if (const double cycles = pair_cycles(q, slots); lowest < 0 || cycles < lowest) lowest = cycles, best = q;
  }
  if (lowest < 0) return why = "a row of the image does not fit into shared memory", std::nullopt;
  const int blocks = std::max(1, slots / best.map_blocks);  // as many as stay busy equally long
  best.workers = ceil_div(best.tiles, ceil_div(best.tiles, blocks));
  best.by_quad_w = divide_by(best.quad_w);
  best.by_words_w = divide_by(best.words_w);
  return best;
}

namespace {

std::optional<PairPlan> plan_for(const Problem& p, const Target& target, std::string& why) {
  return pair_plan(block_shape(parse_conv2d(p)), is_exact_fp32(p, target), target, why);
}

Verdict accepts(const Problem& p, const Target& target) {
  if (Verdict v = accepts_block(p, target); !v.ok) return v;
  std::string why;
  return plan_for(p, target, why) ? accept() : refuse(why);
}

// The share of the products that are wanted: the rest pads maps, taps and the last quads of a band.
double useful_share(const BlockShape& s, const PairPlan& q) {
  const double columns = double(s.maps) / double(q.block_maps() * q.map_blocks);
  const double taps = double(s.kernel_h * s.kernel_w) / double(16 * q.steps);
  const double places = double(q.rows) * q.quad_w;
  return columns * taps * places / (8 * double(ceil_div(static_cast<int>(places), 8)));
}

// Warps compute whole fragments. Exact: three products. Pixels are scaled, and so are results, or those of a
// window of pooling; a bias is added.
double executed_of(const BlockShape& s, const PairPlan& q) {
  double fragments = 0;
  for (int band = 0; band < q.bands; ++band) fragments += ceil_div(cuda::pair_tile(q, band).places, 8);
  const double images = double(q.tiles) / q.bands;
  const double sums = images * fragments * 16 * 8 * q.columns8 * q.map_blocks;
  const double after = s.pooling == BlockPooling::max ? 0.75 : 3;
  return sums * (32.0 * q.steps * (q.split ? 3 : 1) + after) + 2.0 * q.tiles * q.map_blocks * q.words();
}

Work work(const Problem& p, const Target& target) {
  Work work = least_work(p, target);
  work.with(by_arithmetic(p, target, "gpu.conv.pair.fp32", "gpu.conv.pair.rounded", "gpu.conv.pair.fp32",
                          "gpu.conv.pair.rounded"),
            Unit::fp16, extent_of(p));
  std::string why;
  const auto q = plan_for(p, target, why);
  if (!q) return work;
  const BlockShape s = block_shape(parse_conv2d(p));
  work.main().tile = {4 * std::int64_t{q->rows} * q->quad_w, q->block_maps(), s.depth()};
  work.main().blocks = std::int64_t{q->workers} * q->map_blocks;
  work.main().useful = useful_share(s, *q);
  work.main().executed = executed_of(s, *q);
  // Every block reads its weights twice and the rows of its tiles once.
  const double element = double(size_of(p.outputs[0].dtype));
  const double rows = double(q->tiles) * std::min(2 * q->view_rows2, s.in_h) * s.in_w * q->map_blocks;
  const double weights = double(work.main().blocks) * q->block_maps() * s.depth();
  work.main().l2_bytes = element * (rows + 2 * weights + double(p.outputs[0].shape.numel()));
  return work;
}

#ifdef HEADROOM_HAS_CUDA
Launcher prepare(const Problem& p, const LaunchContext& context) {
  std::string why;
  return [dtype = p.outputs[0].dtype, s = block_shape(parse_conv2d(p)),
          plan = plan_for(p, context.target, why).value(), bias = parse_conv2d(p).bias](const LaunchArgs& a) {
    if (plan.tiles == 0) return;
    cuda::conv2d_pair_mma(dtype, s, plan, a.inputs[0], a.inputs[1], bias ? a.inputs[2] : nullptr,
                          a.outputs[0], cuda::stream_of(a));
  };
}
#endif

}  // namespace

Kernel conv2d_cuda_pair_mma() {
  return {.name = "cuda:pair_mma",
          .device = DeviceKind::cuda,
          .accepts = accepts,
          .work = work,
          .prepare = HEADROOM_CUDA(prepare)};
}

}  // namespace headroom
