// How cuda:image_mma cuts images, without a device.
#include <algorithm>
#include <cstdlib>

#include "ops/conv2d/cuda/image_plan.h"

namespace headroom {
namespace {

using cuda::divide_by;
using cuda::ImagePlan;
using cuda::Sweep;

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }

// Fragments of 8 maps in a block: as few as there are, else the least waste in the last block.
int fragments_for(int maps) {
  const int all = ceil_div(maps, 8);
  if (all <= 4) return all;
  return ceil_div(all, 3) * 3 < ceil_div(all, 4) * 4 ? 3 : 4;
}

void set_view(const Sweep& s, int rows, ImagePlan& q) {
  const int back_h = (s.kernel_h - 1) * s.step_h, back_w = (s.kernel_w - 1) * s.step_w;
  q.rows = rows;
  q.bands = ceil_div(s.out_h, rows);
  q.view_h = (rows - 1) * s.mul_h + std::abs(back_h) + 1;
  q.view_w = (s.out_w - 1) * s.mul_w + std::abs(back_w) + 1;
  q.top = s.off_h + std::min(0, back_h);
  q.left = s.off_w + std::min(0, back_w);
  q.view_words = static_cast<int>(
      std::min<std::int64_t>(std::int64_t{s.channels} * q.view_h * q.view_w, std::int64_t{1} << 24));
  q.flat = s.div_h == 1 && s.div_w == 1 && q.top == 0 && q.left == 0 && q.view_h == s.in_h &&
           q.view_w == s.in_w && q.bands == 1;
}

// Bands until the tile fits and, for a small batch, until there is a block for everyone; several images where
// one has only a few pixels. `bytes` tells what a plan takes.
template <class Bytes>
bool cut(const Sweep& s, int wanted_tiles, int budget, ImagePlan& q, const Bytes& bytes) {
  const int least_rows = std::min(s.out_h, ceil_div(64, s.out_w));
  int bands = std::clamp(ceil_div(wanted_tiles, s.batch), 1, s.out_h / least_rows);
  q.images = 1;
  for (int last = 0;; ++bands) {
    const int rows = ceil_div(s.out_h, bands);
    if (rows < least_rows) return false;
    if (rows == last) continue;
    last = rows;
    set_view(s, rows, q);
    if (q.view_words < 1 << 16 && bytes(q) <= budget) break;
    if (rows == 1) return false;
  }
  if (q.bands == 1 && s.out_plane() < 128)
    for (int images = std::min({128 / s.out_plane(), s.batch / std::max(1, wanted_tiles), 32}); images > 1;
         --images) {
      q.images = images;
      if (std::int64_t{images} * q.view_words < 1 << 16 && bytes(q) <= budget) break;
      q.images = 1;
    }
  return true;
}

void finish(const Sweep& s, int most_workers, ImagePlan& q) {
  q.tiles = ceil_div(s.batch, q.images) * q.bands;
  // As many as stay busy equally long.
  q.workers = ceil_div(q.tiles, ceil_div(q.tiles, std::max(1, most_workers)));
  q.by_pixels = divide_by(q.rows * s.out_w);
  q.by_width = divide_by(s.out_w);
  q.by_taps = divide_by(s.taps());
}

bool small_enough(const Sweep& s) {
  constexpr int kMax = 1 << 14;  // beyond it indices would have to be wider
  return std::max({s.in_h, s.in_w, s.out_h, s.out_w, s.channels, s.maps}) < kMax && s.taps() < kMax &&
         s.depth() < 4 * kMax && std::int64_t{s.groups} * s.maps < 32768;
}

// Warps for so many pixels: those that leave least idle in the last round. Returns how many fit beside one
// another on a multiprocessor.
int set_warps(const Sweep& s, bool split, bool alone, ImagePlan& q) {
  const int pixels = q.images * q.rows * s.out_w;
  q.rows16 = cuda::image_rows16(split, q.maps8);
  if (pixels < 16 * q.rows16 * 8) q.rows16 = 1;
  const int threads = cuda::image_threads(split, q.maps8, q.rows16);
  const int most = (alone ? cuda::image_block(threads) : std::min(256, threads / 2)) / 32;
  const int units = ceil_div(pixels, 16 * q.rows16);
  q.threads = 32 * ceil_div(units, ceil_div(units, most));
  return threads / q.threads;
}

// Cycles of one multiprocessor for all of it, roughly: products by its four units, and filling the view, half
// of which another block hides.
double image_cycles(const Sweep& s, bool split, bool alone, const ImagePlan& q) {
  const int units = ceil_div(q.images * q.rows * s.out_w, 16 * q.rows16), warps = q.threads / 32;
  const double products = 1.6 * (split ? 3 : 1.5) * q.maps8 * q.steps * q.rows16 * (q.rows16 == 1 ? 1.6 : 1);
  const double fill = 0.25 * q.images * q.view_words * (alone ? 1 : 0.5);
  return double(ceil_div(s.batch, q.images)) * q.bands * (products * warps * ceil_div(units, warps) + fill);
}

}  // namespace

std::optional<ImagePlan> image_plan(const Sweep& s, bool split, const Target& target) {
  if (!small_enough(s)) return std::nullopt;
  ImagePlan q{};
  q.steps = ceil_div(ceil_div(s.depth(), 8), cuda::kImageGroup) * cuda::kImageGroup;
  q.maps8 = fragments_for(s.maps);
  q.map_blocks = ceil_div(s.maps, 8 * q.maps8);
  const int columns = s.groups * q.map_blocks, sms = processors(target), most = shared_bytes(target);
  const auto bytes = [&](const ImagePlan& plan) {
    return q.steps * (q.maps8 * 256 + 32) + plan.images * plan.view_words * 4;
  };
  const int wanted = ceil_div(2 * sms, columns);
  // Two blocks side by side, one computes while the other fills its view; or one with larger bands.
  ImagePlan large = q;
  const bool two = cut(s, wanted, most / 2 - 1024, q, bytes);
  if (!cut(s, wanted, most, large, bytes)) return std::nullopt;
  int together = two ? set_warps(s, split, false, q) : 0;
  const int by_large = set_warps(s, split, true, large);
  if (!two || image_cycles(s, split, true, large) < image_cycles(s, split, false, q))
    q = large, together = by_large;
  q.bytes = bytes(q);
  finish(s, std::clamp((most + 1024) / (q.bytes + 1024), 1, together) * sms / columns, q);
  return q;
}

std::optional<ImagePlan> image_weight_plan(const Sweep& s, const Target& target) {
  if (!small_enough(s)) return std::nullopt;
  ImagePlan q{};
  q.maps8 = fragments_for(s.maps);
  q.map_blocks = ceil_div(s.maps, 8 * q.maps8);
  constexpr int kWarps = cuda::kWeightThreads / 32;
  const int groups = ceil_div(s.depth(), 32);
  q.row_blocks = ceil_div(groups, kWarps);
  q.row_groups = ceil_div(groups, q.row_blocks);
  q.slices = kWarps / q.row_groups;
  const int columns = s.groups * q.map_blocks * q.row_blocks, sms = processors(target);
  const auto steps = [&](const ImagePlan& plan) {
    return 2 * ceil_div(plan.images * plan.rows * s.out_w, 16);
  };
  // Rows of dy lie 4 apart modulo 32: the lanes of a fragment then read different banks.
  const auto pitch = [&](const ImagePlan& plan) {
    return ceil_div(std::max(0, 8 * steps(plan) - 4), 32) * 32 + 4;
  };
  const auto bytes = [&](const ImagePlan& plan) {
    const int view = ceil_div(plan.images * plan.view_words, 2) * 2;
    const int tile = 4 * (q.maps8 * 8 * pitch(plan) + view) + steps(plan) * 32;
    return std::max(tile, (q.slices - 1) * q.row_groups * 2 * q.maps8 * 4 * 32 * 4);
  };
  const int most = shared_bytes(target);
  if (!cut(s, ceil_div(sms, columns), most, q, bytes)) return std::nullopt;
  q.steps = steps(q);
  q.pixel_pitch = pitch(q);
  q.bytes = bytes(q);
  finish(s, sms / columns, q);
  return q;
}

}  // namespace headroom
