// How cuda:pixel_runs cuts images, without a device.
#include "ops/conv2d/cuda/pixel_runs_plan.h"

#include <algorithm>
#include <cstdlib>

namespace headroom {
namespace {

using cuda::divide_by;
using cuda::RunKind;
using cuda::RunsPlan;
using cuda::Sweep;

constexpr int kLimit = 1 << 16;  // of what is counted in shared memory, see Divide

constexpr int div_up(int a, int b) { return (a + b - 1) / b; }
constexpr int round_up(int a, int to) { return div_up(a, to) * to; }
// Rows an odd multiple of four words apart: 16-byte reads of eight of them touch every bank once.
constexpr int odd_quads(int words) { return round_up(words, 4) + (round_up(words, 4) % 8 == 0 ? 4 : 0); }

const char* refusal(const Sweep& s) {
  if (s.mul_h != 1 || s.mul_w != 1 || s.div_h != 1 || s.div_w != 1) return "needs stride 1";
  if (std::abs(s.step_h) != 1 || std::abs(s.step_w) != 1) return "takes no dilation";
  if (s.kernel_w != 3 && s.kernel_w != 5 && s.kernel_w != 7) return "takes windows of width 3, 5 or 7";
  if ((s.step_h < 0) != (s.step_w < 0)) return "its windows run one way";
  if (s.maps < 3) return "fewer than 3 maps in a group: registers would stay unused";
  if (s.groups > 65535) return "more than 65,535 groups";
  const std::int64_t words =
      std::max(std::int64_t{s.channels} * s.in_plane(), std::int64_t{s.maps} * s.out_plane());
  if (words >= kLimit) return "images of 65,536 elements and more";
  return nullptr;
}

// Words that are copied at once, where lines of `width` begin at `column`.
int unit_of(int width, int column) {
  return width % 4 == 0 && column % 4 == 0 ? 4 : width % 2 == 0 && column % 2 == 0 ? 2 : 1;
}

// Where the image lies in its view. False where the view would not hold all of it.
bool set_view(const Sweep& s, bool whole, RunsPlan& q) {
  q.lines = s.channels * s.kernel_h;
  q.view_h = s.out_h + s.kernel_h - 1;
  q.first_row = -(s.off_h + std::min(0, (s.kernel_h - 1) * s.step_h));
  q.first_column = whole ? 0 : -(s.off_w + std::min(0, (s.kernel_w - 1) * s.step_w));
  if (q.first_row < 0 || q.first_column < 0) return false;
  if (q.first_row + s.in_h > q.view_h || (!whole && q.first_column + s.in_w > s.out_w + s.kernel_w - 1))
    return false;
  q.unit = unit_of(s.in_w, q.first_column);
  q.by_kernel_h = divide_by(s.kernel_h);
  q.by_in_h = divide_by(s.in_h);
  q.by_view_h = divide_by(q.view_h);
  q.by_units = divide_by(s.in_w / q.unit);
  return true;
}

void set_workers(const Sweep& s, const RunsDevice& device, int threads_at_once, RunsPlan& q) {
  const int blocks =
      std::clamp((device.shared_bytes + 1024) / (q.bytes + 1024), 1, threads_at_once / q.threads);
  const int most = std::max(1, blocks * device.multiprocessors / s.groups);
  q.workers = div_up(s.batch, div_up(s.batch, most));  // as many as stay busy equally long
}

// One way to cut: runs of `run` pixels, `maps` maps a thread. Null where it does not fit.
std::optional<RunsPlan> cut(const Sweep& s, const RunsDevice& device, int run, int maps, RunKind kind) {
  const bool whole = kind == RunKind::whole_gradient;
  RunsPlan q{};
  q.maps = maps, q.run = run, q.kind = kind;
  if (!set_view(s, whole, q)) return std::nullopt;
  q.runs = whole ? 1 : div_up(s.out_w, run);
  q.map_groups = div_up(s.maps, maps);
  q.items = s.out_h * q.runs * q.map_groups;
  q.item_warps = div_up(q.items, 32);
  constexpr int kWarps = cuda::kRunThreads / 32;
  if (q.item_warps > kWarps) return std::nullopt;
  q.lines_of_share = div_up(q.lines, std::min(q.lines, kWarps / q.item_warps));
  q.shares = div_up(q.lines, q.lines_of_share);
  q.threads = 32 * q.item_warps * q.shares;
  q.slots = 32 * q.item_warps + 1;
  q.pitch = odd_quads(whole ? run - s.kernel_w + 1 : q.runs * run + s.kernel_w - 1);
  q.plane = q.view_h * q.pitch;
  q.by_quads = divide_by(q.pitch / 4);
  const std::int64_t all_weights = std::int64_t{s.maps} * s.depth(), weights = (all_weights + 3) / 4 * 4,
                     view = std::int64_t{s.channels} * q.plane,
                     sums = std::int64_t{q.shares} * run * maps * q.slots;
  if (weights >= kLimit || 4 * (weights + view + sums) > device.shared_bytes / 2 - 1024) return std::nullopt;
  q.bytes = static_cast<int>(4 * (weights + view + sums));
  q.weight_unit = all_weights % 4 == 0 ? 4 : 1;
  q.by_items_of_group = divide_by(q.runs * s.out_h);
  q.by_runs = divide_by(q.runs);
  q.by_plane = divide_by(s.out_plane());
  q.by_width = divide_by(s.out_w);
  return q;
}

// Cycles of a multiprocessor for one image, roughly: products by four units, and reads of shared memory.
double cycles_of(const Sweep& s, const RunsPlan& q) {
  const bool whole = q.kind == RunKind::whole_gradient;
  const int seen = whole ? q.run - s.kernel_w + 1 : q.run + s.kernel_w - 1;
  const double products = double((whole ? seen : q.run) * q.maps) * s.kernel_w,
               reads = seen / 2.0 + double(q.maps) * s.kernel_w;
  return double(q.shares) * q.lines_of_share * q.item_warps * (products / 4 + reads);
}

}  // namespace

std::optional<RunsPlan> runs_plan(const Sweep& s, const RunsDevice& device, std::string& why) {
  if (const char* no = refusal(s)) return why = no, std::nullopt;
  std::optional<RunsPlan> best;
  double least = 0;
  const bool gradient = s.step_w < 0, row_alone = gradient && s.in_w == s.out_w - s.kernel_w + 1;
  for (const RunKind kind : {RunKind::forward, RunKind::gradient, RunKind::whole_gradient})
    for (const int run : cuda::kRunWidths)
      for (const int maps : cuda::kRunMaps) {
        if (gradient == (kind == RunKind::forward) || !cuda::run_fits(run, maps, s.kernel_w, kind)) continue;
        if (maps > s.maps || (kind == RunKind::whole_gradient && (!row_alone || s.out_w > run))) continue;
        const auto plan = cut(s, device, run, maps, kind);
        if (!plan) continue;
        if (const double here = cycles_of(s, *plan); !best || here < least) best = plan, least = here;
      }
  if (!best)
    return why = "the image has too many runs, or does not fit into half of the shared memory", std::nullopt;
  set_workers(s, device, 2 * cuda::kRunThreads, *best);
  return best;
}

std::optional<RunsPlan> runs_weight_plan(const Sweep& s, const RunsDevice& device, std::string& why) {
  if (const char* no = refusal(s)) return why = no, std::nullopt;
  RunsPlan q{};
  if (!set_view(s, false, q)) return why = "part of the input is outside all windows", std::nullopt;
  q.maps = s.kernel_w < 7 && div_up(s.maps, 4) * 4 <= div_up(s.maps, 3) * 3 ? 4 : 3;
  q.map_groups = div_up(s.maps, q.maps);
  q.items = q.map_groups * q.lines;
  if (q.items > cuda::kRunWeightThreads) return why = "more rows of taps than threads", std::nullopt;
  q.rows_of_share = div_up(s.out_h, std::min(s.out_h, cuda::kRunWeightThreads / q.items));
  q.shares = div_up(s.out_h, q.rows_of_share);
  q.threads = round_up(q.items * q.shares, 32);
  q.slots = q.items | 1;
  q.quads = div_up(s.out_w, 4);
  q.pitch = odd_quads(std::max(s.out_w + s.kernel_w - 1, 4 * q.quads + (s.kernel_w > 5 ? 8 : 4)));
  q.plane = q.view_h * q.pitch;
  q.by_quads = divide_by(q.pitch / 4);
  q.dy_pitch = 4 * q.quads;
  q.dy_plane = s.out_h * q.dy_pitch;
  q.dy_unit = unit_of(s.out_w, 0);
  const std::int64_t image = std::int64_t{s.channels} * q.plane + std::int64_t{s.maps} * q.dy_plane,
                     sums = std::int64_t{q.shares} * q.maps * s.kernel_w * q.slots;
  if (4 * std::max(image, sums) > device.shared_bytes / 2 - 1024)
    return why = "the image does not fit into half of the shared memory", std::nullopt;
  q.bytes = static_cast<int>(4 * std::max(image, sums));
  q.by_items_of_group = divide_by(q.lines);
  q.by_dy_units = divide_by(s.out_w / q.dy_unit);
  q.by_out_h = divide_by(s.out_h);
  q.by_depth = divide_by(s.depth());
  set_workers(s, device, 2 * cuda::kRunWeightThreads, q);
  return q;
}

}  // namespace headroom
