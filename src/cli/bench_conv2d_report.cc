#include "cli/bench_conv2d_report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "base/json.h"
#include "base/text.h"
#include "bench/published_conv2d.h"
#include "report/chart.h"
#include "report/ladder_sheet.h"

namespace headroom::cli {
namespace {

const RungResult* timed_as(const LadderRun& run, const std::string& name) {
  for (const RungResult& r : run.rungs)
    if (r.timed() && r.rung.name == name) return &r;
  return nullptr;
}

const RungResult* fastest(const LadderRun& run) {
  const RungResult* best = nullptr;
  for (const RungResult& r : run.rungs)
    if (r.timed() && (best == nullptr || r.seconds.median < best->seconds.median)) best = &r;
  return best;
}

double ms_of_variant(const LadderRun& run, std::int64_t block, std::int64_t coarsen) {
  const RungResult* r = timed_as(run, fmt::format("block={},coarsen={}", block, coarsen));
  return r == nullptr ? std::numeric_limits<double>::quiet_NaN() : r->seconds.median * 1e3;
}

// A shade from the fastest (full) to the slowest, by the logarithm.
std::string shade_of(double ms, double best, double worst) {
  static const char* const shades[] = {"█", "▓", "▒", "░"};
  if (std::isnan(ms)) return " ";
  const double place = worst > best ? std::log(ms / best) / std::log(worst / best) : 0;
  return shades[static_cast<std::size_t>(std::clamp(place * 4, 0.0, 3.0))];
}

std::string heat_text(const LadderRun& run, const Conv2dSweep& sweep) {
  double best = INFINITY, worst = 0;
  for (const RungResult& r : run.rungs)
    if (r.timed())
      best = std::min(best, r.seconds.median * 1e3), worst = std::max(worst, r.seconds.median * 1e3);
  if (worst == 0) return "";
  std::string text = "\n         coarsen";
  for (const std::int64_t coarsen : sweep.coarsens) text += fmt::format("{:>11}", coarsen);
  text += "\n";
  for (const std::int64_t block : sweep.blocks) {
    text += fmt::format("  block {:>7} ", block);
    for (const std::int64_t coarsen : sweep.coarsens) {
      const double ms = ms_of_variant(run, block, coarsen);
      const std::string shade = shade_of(ms, best, worst);
      text += std::isnan(ms) ? fmt::format("{:>11}", "-")
                             : fmt::format(" {}{}{:>7.4g}{}", shade, shade, ms, ms == best ? "*" : " ");
    }
    text += "\n";
  }
  return text + "\nms; darker is faster, * is the fastest, - was refused.\n";
}

}  // namespace

std::string conv2d_chart_name(const Conv2dSize& size, Conv2dPass pass) {
  std::string name = size.name.empty() ? "layer" : size.name;
  return name + "-" +
         (pass == Conv2dPass::forward      ? "forward"
          : pass == Conv2dPass::grad_input ? "input"
                                           : "weight");
}

Sheet course_sheet(const std::vector<Conv2dClimb>& climbs, std::int64_t images) {
  using enum Column::Format;
  Sheet sheet("both layers",
              {{.key = "what", .title = "both layers"},
               {.key = "images", .title = "", .format = commas},
               {.key = "who", .title = "who", .left = true, .priority = 2},
               {.key = "conv1_ms", .title = "conv1 ms", .unit = "ms"},
               {.key = "conv2_ms", .title = "conv2 ms", .unit = "ms"},
               {.key = "sum_ms", .title = "sum ms", .unit = "ms"},
               {.key = "gflops_per_s", .title = "GFLOP/s", .unit = "GFLOP/s", .format = tenths},
               {.key = "rung", .title = "same idea here", .left = true, .priority = 1}});
  const LadderRun *first = nullptr, *second = nullptr;
  for (const Conv2dClimb& c : climbs)
    if (c.pass == Conv2dPass::forward && c.size.batch == images)
      (c.size.name == "conv1" ? first : second) = &c.run;
  if (first == nullptr || second == nullptr) return sheet;
  const double flops = first->cost.flops() + second->cost.flops();
  for (const RungResult& r : first->rungs) {
    const RungResult* other = timed_as(*second, r.rung.name);
    if (!r.timed() || other == nullptr) continue;
    const double sum = r.seconds.median + other->seconds.median;
    sheet.row({r.rung.name, images, std::string("here"), r.seconds.median * 1e3, other->seconds.median * 1e3,
               sum * 1e3, flops / sum / 1e9, Cell()});
  }
  sheet.rule();
  for (const PublishedConv2d& p : published_conv2d())
    if (p.images == images)
      sheet.row({std::string(p.what), images, std::string(p.who), known(p.conv1_ms), known(p.conv2_ms),
                 p.sum_ms, flops / p.sum_ms / 1e6, p.rung.empty() ? Cell() : Cell(std::string(p.rung))});
  return sheet;
}

Sheet published_layer_sheet(const std::vector<Conv2dClimb>& climbs) {
  Sheet sheet("published", {{.key = "library", .title = "library"},
                            {.key = "layer", .title = "layer", .left = true},
                            {.key = "forward_ms", .title = "forward ms", .unit = "ms"},
                            {.key = "backward_ms", .title = "backward ms", .unit = "ms"}});
  std::map<std::string, std::map<Conv2dPass, const RungResult*>> ours;
  for (const Conv2dClimb& c : climbs)
    if (c.size.batch == 128)
      if (const RungResult* best = fastest(c.run)) ours[c.size.name][c.pass] = best;
  for (auto& [layer, passes] : ours) {
    std::size_t known_here = 0;
    for (const PublishedLayer& p : published_layers()) known_here += p.layer == layer ? 1 : 0;
    if (known_here == 0) continue;
    const RungResult *forward = passes[Conv2dPass::forward], *input = passes[Conv2dPass::grad_input],
                     *weight = passes[Conv2dPass::grad_weight];
    sheet.row({std::string("the best rungs, here"), layer,
               forward ? Cell(forward->seconds.median * 1e3) : Cell(),
               input && weight ? Cell((input->seconds.median + weight->seconds.median) * 1e3) : Cell()});
    for (const PublishedLayer& p : published_layers())
      if (p.layer == layer) sheet.row({std::string(p.library), layer, p.forward_ms, p.backward_ms});
  }
  return sheet;
}

BenchTable sweep_table(const LadderRun& run, const Conv2dSweep& sweep) {
  using enum Column::Format;
  Sheet sheet(
      "sweep",
      {{.key = "variant", .title = "variant"},
       {.key = "problem", .title = ""},
       {.key = "ms", .title = "ms", .unit = "ms"},
       {.key = "tflops_per_s", .title = "TFLOP/s", .unit = "TFLOP/s", .format = hundredths},
       {.key = "times_fastest", .title = "of the fastest", .format = hundredths},
       {.key = "registers", .title = "registers", .priority = 2},
       {.key = "occupancy_percent", .title = "occupancy %", .unit = "%", .format = tenths, .priority = 1},
       {.key = "reason", .title = "refused", .left = true, .wrap = true, .priority = 3}});
  const RungResult* best = fastest(run);
  for (const RungResult& r : run.rungs)
    sheet.row({r.rung.name, run.problem.name, r.timed() ? Cell(r.seconds.median * 1e3) : Cell(),
               r.timed() ? Cell(run.cost.flops() / r.seconds.median / 1e12) : Cell(),
               r.timed() ? Cell(best->seconds.median / r.seconds.median) : Cell(),
               r.launch ? Cell(std::int64_t{r.launch->registers}) : Cell(),
               r.launch ? known(r.launch->occupancy_percent) : Cell(),
               r.reason.empty() ? Cell() : Cell(r.reason)});
  return {sheet, fmt::format("\nSweep of {}: {}\n\n", kSweptKernel, run.problem.name), heat_text(run, sweep)};
}

ChartFile sweep_chart(const LadderRun& run, const Conv2dSize& size, const Conv2dSweep& sweep,
                      const std::string& note) {
  HeatMap map{.title = fmt::format("{} of {}", kSweptKernel, run.problem.name),
              .row_label = "block size",
              .column_label = "maps a thread",
              .unit = "ms",
              .colours = AxisScale::log,
              .best = HeatMap::Best::lowest,
              .missing = "refused or not run",
              .note = note};
  for (const std::int64_t block : sweep.blocks) map.rows.push_back(fmt::format("{} x {}", block, block));
  for (const std::int64_t coarsen : sweep.coarsens) map.columns.push_back(fmt::format("{}", coarsen));
  for (const std::int64_t block : sweep.blocks)
    for (const std::int64_t coarsen : sweep.coarsens)
      map.values.push_back(ms_of_variant(run, block, coarsen));
  return {(size.name.empty() ? "layer" : size.name) + "-sweep", svg(map)};
}

Json sweep_json(const LadderRun& run) {
  Json json = ladder_json(run);
  json["kernel"] = kSweptKernel;
  return json;
}

}  // namespace headroom::cli
