#include "base/json.h"
#include "bench/profiler_cost.h"
#include "bench/random_batch.h"
#include "cli/bench_output.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "models/zoo.h"

namespace headroom::cli {
namespace {

struct BenchProfilerRequest {
  std::vector<std::string> models;
  std::int64_t batch = 0;
  ProfilerCostRequest timing;
  Common common;
  BenchTarget target;
};

// The networks the profiler is measured on, with their batches.
const std::vector<std::pair<std::string, std::int64_t>> kUsual = {
    {"mlp", 64}, {"lenet5", 64}, {"alexnet:classes=10", 128}};

struct ModelCost {
  CountingCost counting;
  ProfilerCost profiler;
};

BenchTable profiler_table(const std::vector<ModelCost>& costs) {
  using enum Column::Format;
  Sheet sheet("profiler", {{.key = "model", .title = "model"},
                           {.key = "batch", .title = "batch"},
                           {.key = "mode", .title = "profiler", .left = true},
                           {.key = "step_ms", .title = "step ms", .unit = "ms"},
                           {.key = "p10_ms", .title = "10 %", .unit = "ms", .priority = 2},
                           {.key = "p90_ms", .title = "90 %", .unit = "ms", .priority = 2},
                           {.key = "cost_percent", .title = "cost %", .unit = "%", .format = hundredths},
                           {.key = "blocks", .title = "blocks", .priority = 1}});
  std::string notes;
  for (const auto& [counting, cost] : costs) {
    for (int m = 0; m < kProfilerModes; ++m) {
      const auto mode = static_cast<ProfilerMode>(m);
      const Spread spread = cost.step_s(mode);
      if (spread.samples == 0) continue;
      const bool untraced = mode == ProfilerMode::nvtx && !cost.why_no_trace.empty();
      const std::string label = untraced ? "spans + NVTX" : std::string(name_of(mode));
      sheet.row({cost.model, cost.batch, label, spread.median * 1e3, spread.p10 * 1e3, spread.p90 * 1e3,
                 mode == ProfilerMode::never ? Cell() : Cell(100 * cost.cost(mode)),
                 std::int64_t(spread.samples)});
    }
    const double plain = cost.step_s(ProfilerMode::off).median;
    sheet.row({cost.model, cost.batch, "counters", counting.step_s * 1e3, Cell(), Cell(),
               100 * (counting.step_s / plain - 1), counting.steps});
    for (const std::string& note : counting.notes) notes += fmt::format("{}: {}.\n", cost.model, note);
    if (!cost.why_no_trace.empty()) notes += fmt::format("No kernel trace: {}.\n", cost.why_no_trace);
  }
  return {sheet, "",
          "\nMedians of blocks of steps, in turn. Cost: against off; of off, against steps before the first "
          "profile.\nCounters: the mean of the steps that `--counters seed` takes, run one launch after the "
          "other.\n" +
              notes};
}

void run(const BenchProfilerRequest& r) {
  require_output(r.target, r.common);
  require_tables(r.common.tables, profiler_table({}).sheet);
  if (r.timing.blocks < 1 || r.timing.blocks > 100000)
    reject("--blocks is {}; it must lie between 1 and 100000", r.timing.blocks);
  if (r.batch < 0) reject("--batch is {}; it must be at least 1", r.batch);
  std::vector<std::pair<std::string, std::int64_t>> models;
  for (const std::string& model : r.models) models.emplace_back(model, r.batch > 0 ? r.batch : 64);
  if (models.empty()) models = kUsual;
  const auto device = r.common.open();
  EngineOptions options = r.common.engine_options();
  options.update.momentum = 0.9;
  std::vector<ModelCost> costs(models.size());
  {
    std::vector<Net> nets;
    for (const auto& [model, batch] : models) nets.push_back(find_net(model));
    for (const Net& net : nets) require_random_batch(net);
    for (std::size_t i = 0; i < nets.size(); ++i)
      if (const std::int64_t fixed = fixed_batch(nets[i]); fixed > 0) models[i].second = fixed;
    for (std::size_t i = 0; i < nets.size(); ++i)
      costs[i].counting = measure_counting(*device, options, nets[i], models[i].second);
    Progress progress("bench profiler");
    for (std::size_t i = 0; i < nets.size(); ++i) {
      ProfilerCostRequest request = r.timing;
      request.batch = models[i].second;
      costs[i].profiler = measure_profiler(*device, options, nets[i], request, [&](int round, int of) {
        progress.update(round, of, nets[i].name);
      });
    }
  }
  finish_bench({"bench profiler",
                {profiler_table(costs)},
                {{"device", device->capabilities().name}, {"precision", r.common.precision}}},
               r.common, r.target, nullptr);
}

}  // namespace

void add_bench_profiler(Command verb) {
  auto r = std::make_shared<BenchProfilerRequest>();
  Command bench =
      verb.verb("profiler", "what profiling costs a training step: off, spans, kernel trace, NVTX, counters");
  bench.option("model", r->models,
               "zoo names with options, net.json or ONNX files; else mlp, lenet5, alexnet");
  add_run_options(bench, r->common, Explains::no);
  add_bench_output(bench, r->target);
  add_layer_table_options(bench, r->common.tables);
  bench.option("--batch", r->batch, "images per batch");
  bench.option("--blocks", r->timing.blocks, "number of timed blocks of steps for each mode");
  bench.example("headroom bench profiler lenet5 --blocks 50");
  bench.runs([r] { run(*r); });
}

}  // namespace headroom::cli
