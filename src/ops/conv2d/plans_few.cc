// How convolutions over few channels are cut for ordinary arithmetic on the GPU.
#include <algorithm>
#include <cstdlib>

#include "ops/conv2d/plans.h"

namespace headroom {
namespace {

using cuda::divide_by;
using cuda::FewPlan;
using cuda::Sweep;

constexpr int ceil_div(int a, int b) { return (a + b - 1) / b; }
constexpr int round_up(int a, int to) { return ceil_div(a, to) * to; }
// Rows an odd multiple of four words apart: 16-byte reads of eight of them touch every bank once.
constexpr int odd_quads(int words) { return round_up(words, 4) + (round_up(words, 4) % 8 == 0 ? 4 : 0); }

const char* refusal(const Sweep& s) {
  constexpr int kMost = 1 << 14;
  if (s.channels > cuda::kFewChannels) return "more than 3 channels in a group: the tensor cores pay";
  if (s.maps < 3) return "fewer than 3 maps in a group: registers would stay empty";
  if (s.maps > 32) return "more than 32 maps in a group: the tensor cores pay";
  if (s.mul_h != 1 || s.mul_w != 1 || s.div_h != 1 || s.div_w != 1)
    return "neighbours share rows at stride one";
  if (std::abs(s.step_h) != 1 || std::abs(s.step_w) != 1) return "dilated: its windows have no gaps";
  if (s.kernel_w != 3 && s.kernel_w != 5 && s.kernel_w != 7) return "its windows are 3, 5 or 7 wide";
  if (std::max({s.in_h, s.in_w, s.out_h, s.out_w}) >= kMost || s.groups > 65535 ||
      std::int64_t{s.maps} * s.out_plane() > 1 << 30)
    return "larger than its indices count";
  return nullptr;
}

void set_view(const Sweep& s, int rows, FewPlan& q) {
  q.rows = rows;
  q.bands = ceil_div(s.out_h, rows);
  q.view_h = rows + s.kernel_h - 1;
  q.view_w = s.out_w + s.kernel_w - 1;
  q.top = s.off_h + std::min(0, (s.kernel_h - 1) * s.step_h);
  q.left = s.off_w + std::min(0, (s.kernel_w - 1) * s.step_w);
}

void finish(const Sweep& s, int blocks, FewPlan& q) {
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
bool cut(const Sweep& s, int wanted_tiles, int least_rows, int even, FewPlan& best, const Cost& cost) {
  const int least = std::clamp(ceil_div(wanted_tiles, s.batch), 1, std::max(1, s.out_h / least_rows));
  double lowest = -1;
  for (int bands = least, tried = 0, last = 0; bands <= s.out_h && tried < 12; ++bands) {
    const int rows = round_up(ceil_div(s.out_h, bands), even);
    if (rows == last) continue;
    last = rows;
    FewPlan q = best;
    set_view(s, rows, q);
    const double here = cost(q);
    if (here < 0) continue;
    ++tried;
    if (lowest < 0 || here < lowest) lowest = here, best = q;
  }
  return lowest >= 0;
}

}  // namespace

std::optional<FewPlan> few_plan(const Sweep& s, const Capabilities& capabilities, std::string& why) {
  if (const char* no = refusal(s)) return why = no, std::nullopt;
  FewPlan q{};
  q.columns = ceil_div(s.out_w, cuda::kFewColumns);
  q.chunks = ceil_div(s.maps, cuda::kFewMaps);
  const int most = shared_bytes(capabilities), sms = processors(capabilities);
  const auto cost_within = [&](int budget) {
    return [&s, budget](FewPlan& p) -> double {
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

std::optional<FewPlan> few_weight_plan(const Sweep& s, const Capabilities& capabilities, std::string& why) {
  if (const char* no = refusal(s)) return why = no, std::nullopt;
  FewPlan q{};
  q.columns = ceil_div(s.out_w, 4);
  q.chunks = ceil_div(s.maps, cuda::kFewWeightMaps);
  q.items = q.chunks * s.channels * s.kernel_h;
  if (q.items > cuda::kFewWeightThreads) return why = "more rows of taps than threads", std::nullopt;
  const int most = shared_bytes(capabilities), sms = processors(capabilities);
  const auto cost_within = [&](int budget) {
    return [&s, budget](FewPlan& p) -> double {
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

}  // namespace headroom
