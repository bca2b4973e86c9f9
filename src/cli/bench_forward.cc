#include "base/json.h"
#include "bench/forward.h"

#include "bench/random_batch.h"
#include "cli/bench_output.h"
#include "cli/bench_predicted.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "models/zoo.h"
#include "report/sampling.h"
#include "train/program.h"

namespace headroom::cli {
namespace {

struct BenchForwardRequest {
  Common common;
  std::vector<std::string> models;
  ForwardRequest timing;
  BenchTarget target;
};

Json to_json(const ForwardTiming& t) {
  Json json = {{"name", t.model},
               {"batch", t.batch},
               {"parameters", t.parameters},
               {"gflop", t.flop / 1e9},
               {"forward_ms", t.forward_s.median * 1e3},
               {"forward_min_ms", t.forward_s.min * 1e3},
               {"forward", spread_json(t.forward_s)}};
  add_predicted(json, "forward_", t.predicted_forward, t.forward_s.median);
  if (t.step_s.samples > 0) {
    add_predicted(json, "step_", t.predicted_step, t.step_s.median);
    json["step_ms"] = t.step_s.median * 1e3;
    json["step_min_ms"] = t.step_s.min * 1e3;
    json["step"] = spread_json(t.step_s);
  }
  return json;
}

Sheet timings_sheet(const std::vector<ForwardTiming>& timings, bool steps) {
  using enum Column::Format;
  std::vector<Column> columns = {
      {.key = "name", .title = "network"},
      {.key = "batch", .title = "batch"},
      {.key = "parameters", .title = "parameters", .format = commas, .priority = 4},
      {.key = "gflop", .title = "GFLOP", .unit = "GFLOP", .priority = 5},
      {.key = "forward_ms", .title = "forward ms", .unit = "ms"},
      {.key = "forward_min_ms", .title = "fastest", .unit = "ms", .priority = 3},
      {.key = "gflops_per_s", .title = "GFLOP/s", .unit = "GFLOP/s", .format = tenths, .priority = 1}};
  append(columns, predicted_columns("forward_"));
  if (steps) {
    append(columns, {{.key = "step_ms", .title = "step ms", .unit = "ms"},
                     {.key = "step_min_ms", .title = "fastest", .unit = "ms", .priority = 3}});
    append(columns, predicted_columns("step_"));
  }
  Sheet sheet("forward", columns);
  for (const ForwardTiming& t : timings) {
    std::vector<Cell> cells = {t.model,
                               std::int64_t{t.batch},
                               std::int64_t{t.parameters},
                               t.flop / 1e9,
                               t.forward_s.median * 1e3,
                               t.forward_s.min * 1e3,
                               t.flop / t.forward_s.median / 1e9};
    append(cells, predicted_cells(t.predicted_forward, t.forward_s.median));
    if (steps) {
      append(cells, {t.step_s.median * 1e3, t.step_s.min * 1e3});
      append(cells, predicted_cells(t.predicted_step, t.step_s.median));
    }
    sheet.row(cells);
  }
  return sheet;
}

BenchTable timings_table(const std::vector<ForwardTiming>& timings, bool steps, const std::string& device) {
  std::vector<Sampled> medians;
  for (const ForwardTiming& t : timings) medians.insert(medians.end(), {t.forward_s, t.step_s});
  return {timings_sheet(timings, steps), "",
          "\nMedians and the fastest; random images, weights as initialised.\n" +
              predicted_note(timings.front().predicted_forward.basis, device) + sampling_note(medians)};
}

// Before the first is timed: a network that cannot be trained would cost the results of those before it.
void require_gradients(const Net& net, std::int64_t batch) {
  make_program(net, {.mode = Mode::train, .batch = batch, .fusion = Fusion::none});
}

void run(const BenchForwardRequest& r) {
  require_output(r.target, r.common);
  require_tables(r.common.tables, timings_sheet({}, r.timing.steps));
  if (r.timing.batch < 1) reject("--batch is {}; it must be at least 1", r.timing.batch);
  if (!(r.timing.seconds > 0 && r.timing.seconds <= 3600))
    reject("--seconds is {}; it must be above 0, and at most 3600", r.timing.seconds);
  if (r.models.empty())
    reject(Hint{"headroom model list names them"}, "bench forward needs a network to time");
  const auto device = r.common.open();
  std::vector<Net> nets_to_time;  // what is wrong with one is said before the machine is measured
  for (const std::string& model : r.models) nets_to_time.push_back(find_net(model));
  for (const Net& net : nets_to_time) require_random_batch(net);
  if (r.timing.steps)
    for (const Net& net : nets_to_time) require_gradients(net, r.timing.batch);
  const Machine machine = r.common.machine(*device);
  std::vector<ForwardTiming> timings;
  EngineOptions options = r.common.engine_options();
  options.update.momentum = 0.9;
  {
    Progress progress("bench");
    for (const Net& net : nets_to_time) {
      progress.stage(net.name);
      timings.push_back(bench_forward(*device, machine, options, net, r.timing));
    }
  }
  Json nets = Json::array();
  for (const ForwardTiming& t : timings) nets.push_back(to_json(t));
  finish_bench({"bench forward",
                {timings_table(timings, r.timing.steps, r.common.device)},
                {{"device", device->capabilities().name},
                 {"threads", device->capabilities().threads},
                 {"precision", r.common.precision},
                 {"nets", nets}}},
               r.common, r.target, &machine);
}

}  // namespace

void add_bench_forward(Command verb) {
  auto r = std::make_shared<BenchForwardRequest>();
  Command forward = verb.verb("forward", "time your networks forward, and optionally a training step");
  forward.option("model", r->models, "zoo names with options, net.json or ONNX files");
  add_run_options(forward, r->common, Explains::no);
  add_bench_output(forward, r->target);
  add_layer_table_options(forward, r->common.tables);
  forward.option("--batch", r->timing.batch, "images per batch");
  forward.option("--seconds", r->timing.seconds, "how long each is timed");
  forward.flag("--step", r->timing.steps, "also time training steps with momentum");
  forward.example("headroom bench forward lenet5 examples/tiny-net.json --batch 16");
  forward.runs([r] { run(*r); });
}

}  // namespace headroom::cli
