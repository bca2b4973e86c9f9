#include "report/kernel_sheet.h"

#include <cmath>

#include "base/text.h"
#include "base/units.h"
#include "timing/choose.h"
#include "timing/step_model.h"

namespace headroom {
namespace {

std::string tile_text(const ProductExtent& tile) {
  if (tile.m == 0 || tile.n == 0) return {};
  return tile.k > 0 ? fmt::format("{}x{}x{}", tile.m, tile.n, tile.k) : fmt::format("{}x{}", tile.m, tile.n);
}

// Rounds in which all cores together work off the blocks, one each; and the part of them that stands idle.
struct Rounds {
  double count = 0, idle = 0;
};
Rounds rounds_of(std::int64_t blocks, int cores) {
  const double exact = double(blocks) / cores, whole = std::ceil(exact);
  return {exact, (whole - exact) / whole};
}

std::string rivals_text(const Step& step, const Machine& machine, const Target& target) {
  std::string text;
  for (const RivalTime& rival : rival_times(step.problem, target, machine, time_model_for(machine)))
    if (rival.kernel != step.kernel)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", rival.kernel->name,
                          rival.seconds > 0 ? human_seconds(rival.seconds) : "not known");
  return text;
}

}  // namespace

Sheet kernel_sheet(const Plan& plan, const Prediction& prediction, const Machine& machine) {
  using enum Column::Format;
  Sheet sheet("kernels",
              {{.key = "step", .title = "step"},
               {.key = "layer", .title = "layer", .left = true},
               {.key = "operator", .title = "operator", .left = true},
               {.key = "kernel", .title = "kernel", .left = true},
               {.key = "unit", .title = "unit", .left = true, .priority = 3},
               {.key = "tile", .title = "tile", .left = true, .priority = 2},
               {.key = "blocks", .title = "blocks", .format = commas, .priority = 2},
               {.key = "waves", .title = "waves", .format = hundredths, .priority = 1},
               {.key = "tail_percent", .title = "tail %", .unit = "%", .format = tenths, .priority = 1},
               {.key = "predicted_us", .title = "us", .unit = "us"},
               {.key = "limit", .title = "limit", .left = true},
               {.key = "rivals", .title = "rivals", .left = true, .wrap = true, .priority = 4}});
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    const Step& step = plan.steps[s];
    const StepPrediction& p = prediction.steps[s];
    const KernelLaunch main = step.work.launches.empty() ? KernelLaunch{} : step.work.launches.front();
    const std::string tile = tile_text(main.tile);
    const bool counted = main.blocks > 0 && machine.cores > 0;
    const Rounds rounds = counted ? rounds_of(main.blocks, machine.cores) : Rounds{};
    sheet.row({static_cast<std::int64_t>(s), plan.graph.node(step.node).layer, step.problem.op,
               step.full_name(), main.flops > 0 ? Cell(std::string(name_of(main.unit))) : Cell(),
               tile.empty() ? Cell() : Cell(tile), counted ? Cell(main.blocks) : Cell(),
               counted ? Cell(rounds.count) : Cell(), counted ? Cell(100 * rounds.idle) : Cell(),
               known(p.predicted_s * 1e6), p.limit.empty() ? Cell() : Cell(p.limit),
               rivals_text(step, machine, plan.binding.target)});
  }
  return sheet;
}

}  // namespace headroom
