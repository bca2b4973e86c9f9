#include "cli/counter_list.h"

#include <algorithm>

#include "base/json.h"
#include "profile/cpu_counters.h"
#include "profile/gpu_counting.h"

namespace headroom::cli {
namespace {

// The sets that have a counter, by name.
template <class Sets>
std::string sets_with(const Sets& sets, const std::string& counter) {
  std::vector<std::string> names;
  for (const auto& set : sets)
    if (std::ranges::find(set.counters, counter) != set.counters.end()) names.emplace_back(set.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

// The metric of a counter on the chip; empty if it has none.
std::string metric_of(const GpuCounter& counter, const std::string& chip) {
  const CounterPasses passes = gpu_counter_passes({counter.name}, chip);
  return passes.passes.empty() ? "" : passes.passes[0].metrics[0];
}

Sheet gpu_counters_sheet(const std::string& chip) {
  Sheet sheet("counters", {{.key = "counter", .title = "counter"},
                           {.key = "what", .title = "what", .left = true, .wrap = true},
                           {.key = "sets", .title = "in the sets", .left = true},
                           {.key = "metric", .title = "metric of CUPTI", .left = true, .priority = 1}});
  for (const GpuCounter& counter : gpu_counters()) {
    const std::string metric = metric_of(counter, chip);
    sheet.row({std::string(counter.name), std::string(counter.what),
               sets_with(gpu_counter_sets(), counter.name), metric.empty() ? Cell() : Cell(metric)});
  }
  return sheet;
}

Sheet gpu_sets_sheet(const std::string& chip) {
  Sheet sheet("sets", {{.key = "set", .title = "set"},
                       {.key = "what", .title = "what", .left = true, .wrap = true},
                       {.key = "passes", .title = "passes"},
                       {.key = "steps", .title = "steps"},
                       {.key = "missing", .title = "not on this chip", .left = true, .wrap = true}});
  for (const GpuCounterSet& set : gpu_counter_sets()) {
    const CounterPasses passes = gpu_counter_passes(set.counters, chip);
    const std::string missing = fmt::format("{}", fmt::join(passes.missing, ", "));
    sheet.row({std::string(set.name), std::string(set.what), std::int64_t(std::ssize(passes.passes)),
               std::int64_t{passes.runs()}, missing.empty() ? Cell() : Cell(missing)});
  }
  return sheet;
}

// How each set is split over successive steps.
Sheet gpu_passes_sheet(const std::string& chip) {
  Sheet sheet("passes", {{.key = "set", .title = "set"},
                         {.key = "pass", .title = "pass"},
                         {.key = "steps", .title = "steps"},
                         {.key = "counters", .title = "counters", .left = true, .wrap = true}});
  for (const GpuCounterSet& set : gpu_counter_sets()) {
    const CounterPasses all = gpu_counter_passes(set.counters, chip);
    for (std::size_t p = 0; p < all.passes.size(); ++p)
      sheet.row({std::string(set.name), std::int64_t(p + 1), std::int64_t{all.passes[p].runs},
                 fmt::format("{}", fmt::join(all.passes[p].counters, ", "))});
  }
  return sheet;
}

}  // namespace

void list_cpu_counters(const Common& common) {
  Sheet sheet("counters", {{.key = "counter", .title = "counter"},
                           {.key = "what", .title = "what", .left = true},
                           {.key = "sets", .title = "in the sets", .left = true},
                           {.key = "here", .title = "here", .left = true, .wrap = true}});
  for (const CpuCounter& counter : cpu_counters()) {
    const std::string why_not = why_no_cpu_counter(counter);
    sheet.row({std::string(counter.name), std::string(counter.what),
               sets_with(cpu_counter_sets(), counter.name), why_not.empty() ? "yes" : "no: " + why_not});
  }
  if (common.json) return print_json({{"counters", sheet.objects()}});
  print(sheet.text(common.tables.view()));
}

void list_gpu_counters(const Common& common, const std::string& wanted) {
  const std::string chip = wanted.empty() ? kUsualChip : wanted;
  const Sheet sets = gpu_sets_sheet(chip), passes = gpu_passes_sheet(chip),
              counters = gpu_counters_sheet(chip);
  if (common.json)
    return print_json({{"chip", chip},
                       {"sets", sets.objects()},
                       {"passes", passes.objects()},
                       {"counters", counters.objects()}});
  const TableView view = common.tables.view();
  print(
      fmt::format("Counters of {}. Each pass is counted in a step of its own.\n\n", chip) + sets.text(view) +
      "\n" + passes.text(view) + "\n" + counters.text(view) + "\n" +
      paragraph("Sums of CUPTI can be named, too: lts__t_sectors_op_read.sum. Operations of tensor cores are "
                "in CUPTI's own unit.",
                view));
}

}  // namespace headroom::cli
