// How cuda:block_mma cuts images, without a device.
#include "ops/conv2d/cuda/block_plan.h"

#include <algorithm>

namespace headroom {
namespace {

using cuda::BlockPlan;
using cuda::BlockPooling;
using cuda::BlockShape;
using cuda::divide_by;

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int round_up(int a, int to) { return ceil_div(a, to) * to; }
constexpr int kSlotBytes = 128;  // one word for each warp, where a block finds its largest value

// Multiplications of 16-bit numbers are exact below 2^16 (see Divide).
constexpr int kIndexLimit = 1 << 16;

bool is_small_enough(const BlockShape& s) {
  constexpr int kExtent = 1 << 14;
  return std::max({s.in_h, s.in_w, s.conv_h, s.conv_w, s.channels, s.maps}) < kExtent &&
         std::max({s.kernel_h, s.kernel_w, s.stride_h, s.stride_w, s.dilation_h, s.dilation_w}) < 256 &&
         std::max({s.pad_h, s.pad_w, s.pool_h, s.pool_w, s.step_h, s.step_w}) < 256 &&
         std::int64_t{s.channels} * s.kernel_h * s.kernel_w < kIndexLimit &&
         std::int64_t{s.channels} * s.in_h * s.in_w < std::int64_t{1} << 30 &&
         std::int64_t{s.maps} * s.out_h * s.out_w < std::int64_t{1} << 30 &&
         std::int64_t{s.batch} * s.out_h < std::int64_t{1} << 30;
}

// A lane holds a whole window of pooling, and no window is cut off. Means come after the activation, so they
// wait until the results are staged.
bool can_pool_quads(const BlockShape& s) {
  return s.pooling == BlockPooling::max && s.pool_h == 2 && s.pool_w == 2 && s.step_h == 2 && s.step_w == 2 &&
         s.dilation_w == 1 && 2 * s.out_h <= s.conv_h && 2 * s.out_w <= s.conv_w;
}

void set_words(const BlockShape& s, BlockPlan& q) {
  const int reach = s.kernel_w + (q.quad ? s.stride_w : 0);
  const int by_channels = ceil_div(s.channels, 2) * reach, by_columns = s.channels * ceil_div(reach, 2);
  // Of equal length: the one whose view is smaller.
  q.by_columns = by_columns < by_channels || (by_columns == by_channels && s.channels == 1);
  q.planes = q.by_columns ? s.channels : ceil_div(s.channels, 2);
  q.fours = q.planes / 4 * 4;
  q.tap_columns = q.by_columns ? ceil_div(reach, 2) : reach;
  q.words = q.planes * s.kernel_h * q.tap_columns;
  q.steps = ceil_div(q.words, 8);
}

// Fragments of 8 columns in a block: as few as there are, else the least waste in the last block.
void set_maps(const BlockShape& s, BlockPlan& q) {
  const int all = ceil_div(s.maps * (q.quad ? 2 : 1), 8);
  q.columns8 = all <= 4 ? all : ceil_div(all, 3) * 3 < ceil_div(all, 4) * 4 ? 3 : 4;
  q.block_maps = q.columns8 * (q.quad ? 4 : 8);
  q.map_blocks = ceil_div(s.maps, q.block_maps);
}

// Cycles that shared memory takes for one register of a fragment: lanes that read different words of one bank
// wait for each other.
int wavefronts(const BlockShape& s, const BlockPlan& q, int fragment, int half_step) {
  int words[32], in_bank[cuda::kBlockBanks] = {}, most = 0;
  for (int lane = 0; lane < 32; ++lane) {
    const int row = cuda::a_row(lane, 0), place = cuda::row_place(q, fragment, row);
    const cuda::BlockTerm term = cuda::block_term(s, q, 4 * half_step + lane % 4);
    const int word = cuda::window_begin(s, q, place, row) + cuda::term_place(s, q, term);
    words[lane] = word;
    if (std::find(words, words + lane, word) == words + lane)
      most = std::max(most, ++in_bank[word % cuda::kBlockBanks]);
  }
  return most;
}

std::int64_t weight_bytes(const BlockPlan& q) {
  return std::int64_t{q.steps} * q.columns8 * 32 * (q.split ? 16 : 8);
}

// How far apart rows of the view lie: whatever lets the fewest lanes wait, judged by a few fragments.
void set_pitch(const BlockShape& s, BlockPlan& q) {
  q.place_w = q.quad ? s.out_w : s.conv_w;
  q.by_place_w = divide_by(q.place_w);
  const int last_window = (q.quad ? 2 * (s.out_w - 1) : s.conv_w - 1) * s.stride_w;
  const int width = last_window + (q.tap_columns - 1) * (q.by_columns ? 2 : 1) * s.dilation_w + 1;
  const int half_steps = ceil_div(q.words, 4), stride = std::max(1, half_steps / 16);
  int lowest = -1, best = width;
  BlockPlan probe = q;
  probe.plane = kIndexLimit;  // a multiple of the banks, beyond any view
  for (int pitch = width; pitch < width + 8; ++pitch) {
    probe.pitch = pitch;
    int cycles = 0;
    for (int half_step = 0; half_step < half_steps; half_step += stride)
      for (int fragment = 0; fragment < 6; ++fragment) cycles += wavefronts(s, probe, fragment, half_step);
    if (lowest < 0 || cycles < lowest) lowest = cycles, best = pitch;
  }
  q.pitch = best;
}

// Everything that follows from the rows of a band. False: too large to count.
bool set_band(const BlockShape& s, int rows, BlockPlan& q) {
  q.rows = rows;
  q.bands = ceil_div(s.out_h, rows);
  q.tiles = s.batch * q.bands;
  q.conv_rows = std::min(s.conv_h, (rows - 1) * s.step_h + s.pool_h);
  q.place_rows = q.quad ? rows : q.conv_rows;
  q.view_h = (q.conv_rows - 1) * s.stride_h + (s.kernel_h - 1) * s.dilation_h + 1;
  const std::int64_t dense = std::int64_t{q.view_h} * q.pitch,
                     places = std::int64_t{q.place_rows} * q.place_w;
  if (dense * q.planes >= kIndexLimit || places * q.block_maps >= kIndexLimit ||
      std::int64_t{rows} * s.out_w * q.block_maps >= kIndexLimit)
    return false;
  constexpr int banks = cuda::kBlockBanks;
  q.plane = round_up(static_cast<int>(dense) + 3 * banks / 4, banks);
  q.view_words = q.planes * q.plane;
  // Lanes write one place of maps next but one to each other; of quads, of maps next to each other.
  const int residue = q.quad ? 8 : 4, period = q.quad ? 32 : 16;
  q.stage_pitch = round_up(std::max(0, static_cast<int>(places) - residue), period) + residue;

  const std::int64_t weights = weight_bytes(q);
  const std::int64_t terms = std::int64_t{q.steps + 2} * 4 * 8,
                     view = std::int64_t{q.view_words} * (q.split ? 8 : 4);
  const std::int64_t stage = q.direct ? 0 : std::int64_t{q.block_maps} * q.stage_pitch * 4,
                     bytes = weights + terms + view + stage;
  if (bytes >= 1 << 20) return false;
  q.terms_at = static_cast<int>(weights);
  q.view_at = static_cast<int>(weights + terms);
  q.stage_at = static_cast<int>(weights + terms + view);
  q.slots_at = static_cast<int>(bytes);
  return true;
}

int units_of(const BlockPlan& q) {
  const int fragments = ceil_div(q.place_rows * q.place_w, cuda::places_of_fragment(q));
  return ceil_div(fragments, cuda::block_rows16(q.split, q.columns8));
}

// Cycles of one multiprocessor for everything, roughly, with `together` blocks on it, after what was measured
// on an H200: a product of tensor cores takes 1.8, a word of the view, its scale included, 2.3. The 0.4 of a
// result and the 3000 of a tile's latencies, which other blocks alone hide, are guesses.
double block_cycles(int sms, int together, const BlockPlan& q) {
  const int warps = q.threads / 32, rows16 = cuda::block_rows16(q.split, q.columns8);
  const double products = 1.8 * (q.split ? 3 : 1.4) * q.columns8 * q.steps * rows16;
  const double busy = std::min(1.0, double(together * warps) / 12);
  const double sums = products * warps * ceil_div(units_of(q), warps) / busy;
  const double moved = 2.3 * q.view_words + 0.4 * q.block_maps * q.place_rows * q.place_w;
  const double tile = sums + moved + 3000.0 / together;
  const std::int64_t tiles = std::int64_t{q.tiles} * q.map_blocks, slots = std::int64_t{sms} * together;
  return double((tiles + slots - 1) / slots) * together * tile;
}

// The fewest bands that fit, then those that fill the device better.
void try_bands(const BlockShape& s, int sms, int budget, int together, const BlockPlan& start, double& lowest,
               BlockPlan& best) {
  int fitting = 0;
  for (int bands = 1, last = 0; bands <= s.out_h && fitting < 8; ++bands) {
    const int rows = ceil_div(s.out_h, bands);
    if (rows == last) continue;
    last = rows;
    BlockPlan q = start;
    if (!set_band(s, rows, q)) continue;
    const int most = cuda::block_threads(q.split, q.columns8) / 32 / together;
    const int units = units_of(q), turns = ceil_div(units, most);
    q.threads =
        32 * std::clamp(ceil_div(units, turns), std::min(4, most), most);  // the same turns, fewer idle
    if (cuda::stores_runs(q)) q.slots_at += q.threads / 32 * cuda::kBlockRunFloats * 4;
    q.bytes = q.slots_at + kSlotBytes;
    if (q.bytes > budget) continue;
    ++fitting;
    const double cycles = block_cycles(sms, together, q);
    if (lowest < 0 || cycles < lowest)
      lowest = cycles, best = q,
      best.workers =
          static_cast<int>(std::min<std::int64_t>(q.tiles, std::max(1, sms * together / q.map_blocks)));
  }
}

}  // namespace

BlockShape block_shape(const Conv2d& c) {
  const Window2d& w = c.window;
  const auto i = [](std::int64_t v) { return static_cast<int>(std::min<std::int64_t>(v, 1 << 30)); };
  BlockShape s{.batch = i(c.batch),
               .channels = i(c.channels),
               .maps = i(c.maps),
               .in_h = i(w.input.h),
               .in_w = i(w.input.w),
               .conv_h = i(w.output.h),
               .conv_w = i(w.output.w),
               .kernel_h = i(w.kernel.h),
               .kernel_w = i(w.kernel.w),
               .stride_h = i(w.stride.h),
               .stride_w = i(w.stride.w),
               .dilation_h = i(w.dilation.h),
               .dilation_w = i(w.dilation.w),
               .pad_h = i(w.pad.h),
               .pad_w = i(w.pad.w),
               .activation = static_cast<int>(c.activation),
               .pooling = BlockPooling::none,
               .pool_h = 1,
               .pool_w = 1,
               .step_h = 1,
               .step_w = 1,
               .out_h = i(w.output.h),
               .out_w = i(w.output.w),
               .flipped = false};
  if (!c.pools()) return s;
  const Window2d& pool = c.pool.window;
  s.pooling = c.pool.kind == BlockPool::Kind::max ? BlockPooling::max : BlockPooling::mean;
  s.pool_h = i(pool.kernel.h), s.pool_w = i(pool.kernel.w);
  s.step_h = i(pool.stride.h), s.step_w = i(pool.stride.w);
  s.out_h = i(pool.output.h), s.out_w = i(pool.output.w);
  return s;
}

BlockShape block_gradient_shape(const Conv2d& c) {
  BlockShape s = block_shape(c);
  std::swap(s.channels, s.maps);
  std::swap(s.in_h, s.conv_h);
  std::swap(s.in_w, s.conv_w);
  s.pad_h = (s.kernel_h - 1) * s.dilation_h - s.pad_h;
  s.pad_w = (s.kernel_w - 1) * s.dilation_w - s.pad_w;
  s.out_h = s.conv_h, s.out_w = s.conv_w;
  s.flipped = true;
  return s;
}

Verdict accepts_block(const Problem& p, const Target& target) {
  if (Verdict v = accepts_cuda_floats(p, target); !v.ok) return v;
  if (p.outputs[0].dtype == DType::f64) return refuse("images are held in fp16, two parts of each element");
  if (target.device.compute_capability < 80) return refuse("its products need compute capability 8.0");
  const Conv2d c = parse_conv2d(p);
  if (c.groups > 1) return refuse("grouped");
  if (c.norm || c.residual || c.cuts()) return refuse("neither normalises, nor adds a residual, nor clips");
  if (!c.pools()) return accept();
  if (c.pool.window.pad != Extent2d{0, 0} || c.pool.window.pad_end != Extent2d{0, 0})
    return refuse("takes no padding around what it pools");
  if (c.pool.window.dilation != Extent2d{1, 1}) return refuse("takes no dilated windows of pooling");
  return accept();
}

namespace {

std::optional<BlockPlan> plan_anew(const BlockShape& s, bool split, int shared, int sms) {
  BlockPlan start{};
  start.split = split;
  start.quad = can_pool_quads(s);
  start.direct = start.quad || s.pooling == BlockPooling::none;
  set_words(s, start);
  set_maps(s, start);
  const int all = shared + 1024;
  if (weight_bytes(start) >= all) return {};  // looking for a pitch takes a while
  set_pitch(s, start);
  double lowest = -1;
  BlockPlan best{};
  for (const int together : {1, 2, 3, 4, 6})
    try_bands(s, sms, all / together - 1024, together, start, lowest, best);
  if (lowest < 0) return {};
  best.by_band = divide_by(best.rows * s.out_w);
  best.by_out_w = divide_by(s.out_w);
  best.by_in_w = divide_by(s.in_w);
  best.by_pixels = cuda::fills_pixels(s, best);
  return best;
}

}  // namespace

// A kernel asks for the same plan several times before it runs.
std::optional<BlockPlan> block_plan(const BlockShape& s, bool split, const Target& target, std::string& why) {
  if (!is_small_enough(s)) return why = "larger than its 32-bit indices", std::nullopt;
  struct Asked {
    BlockShape shape;
    bool split;
    int shared, sms;
    bool operator==(const Asked&) const = default;
  };
  thread_local std::optional<Asked> last;
  thread_local std::optional<BlockPlan> plan;
  const Asked asked{s, split, shared_bytes(target), processors(target)};
  if (last != asked) plan = plan_anew(s, split, asked.shared, asked.sms), last = asked;
  if (!plan) why = "a band of the image does not fit into shared memory beside the weights";
  return plan;
}

}  // namespace headroom
