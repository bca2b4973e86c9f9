#include "report/ladder_ideas.h"

#include <algorithm>

namespace headroom {
namespace {

const RungResult* timed_rung(const LadderRun& run, const std::string& name) {
  const auto at =
      std::ranges::find_if(run.rungs, [&](const RungResult& r) { return r.timed() && r.rung.name == name; });
  return at == run.rungs.end() ? nullptr : &*at;
}

const RungResult* baseline_of(const LadderRun& run) {
  const auto at = std::ranges::find_if(
      run.rungs, [](const RungResult& r) { return r.timed() && r.rung.builds_on.empty(); });
  return at == run.rungs.end() ? nullptr : &*at;
}

// From a rung down to the baseline, by what each builds on; empty where one of them did not run.
std::vector<const RungResult*> climb_to(const LadderRun& run, const RungResult& top,
                                        const RungResult& baseline) {
  std::vector<const RungResult*> path;
  for (const RungResult* r = &top; r != nullptr && path.size() <= run.rungs.size();
       r = timed_rung(run, r->rung.builds_on)) {
    path.insert(path.begin(), r);
    if (r == &baseline) return path;
  }
  return {};
}

// The longest climb that is there; of equally long ones the one that ends fastest.
std::vector<const RungResult*> longest_climb(const LadderRun& run, const RungResult& baseline) {
  std::vector<const RungResult*> best;
  for (const RungResult& top : run.rungs) {
    if (!top.timed()) continue;
    const auto path = climb_to(run, top, baseline);
    if (path.size() > best.size() ||
        (path.size() == best.size() && !path.empty() && top.seconds.median < best.back()->seconds.median))
      best = path;
  }
  return best;
}

}  // namespace

Sheet ladder_ideas(const LadderRun& run) {
  using enum Column::Format;
  Sheet sheet("ideas", {{.key = "rung", .title = "rung"},
                        {.key = "problem", .title = ""},
                        {.key = "order", .title = "", .left = true},
                        {.key = "idea", .title = "idea", .left = true},
                        {.key = "ms", .title = "ms", .unit = "ms"},
                        {.key = "times_before", .title = "x before", .format = hundredths},
                        {.key = "times_baseline", .title = "x baseline", .format = hundredths}});
  const RungResult* baseline = baseline_of(run);
  if (baseline == nullptr) return sheet;
  const auto over = [](const RungResult& before, const RungResult& r) {
    return before.seconds.median / r.seconds.median;
  };
  const RungResult* before = nullptr;
  for (const RungResult* r : longest_climb(run, *baseline)) {
    sheet.row({r->rung.name, run.problem.name, std::string("cumulative"),
               before == nullptr ? std::string("baseline: ") + r->rung.title : r->rung.title,
               r->seconds.median * 1e3, before == nullptr ? Cell() : Cell(over(*before, *r)),
               over(*baseline, *r)});
    before = r;
  }
  sheet.rule();
  for (const RungResult& r : run.rungs)
    if (r.timed() && r.rung.builds_on == baseline->rung.name)
      sheet.row({r.rung.name, run.problem.name, std::string("alone"), "alone: " + r.rung.title,
                 r.seconds.median * 1e3, over(*baseline, r), over(*baseline, r)});
  return sheet;
}

}  // namespace headroom
