#include "base/table.h"
#include "bench/forward.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "models/zoo.h"
#include "report/record.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

struct Request {
  Common common;
  std::vector<std::string> models;
  ForwardRequest timing;
};

Json to_json(const ForwardTiming& t) {
  Json json = {{"name", t.model},
               {"batch", t.batch},
               {"parameters", t.parameters},
               {"gflop", t.flop / 1e9},
               {"forward_ms", t.forward_s.median * 1e3},
               {"forward_min_ms", t.forward_s.min * 1e3},
               {"forward", spread_json(t.forward_s)}};
  if (t.step_s.samples > 0) {
    json["step_ms"] = t.step_s.median * 1e3;
    json["step_min_ms"] = t.step_s.min * 1e3;
    json["step"] = spread_json(t.step_s);
  }
  return json;
}

void print_timings(const std::vector<ForwardTiming>& timings, bool steps) {
  std::vector<std::string> titles = {"network",    "batch",   "parameters", "GFLOP",
                                     "forward ms", "fastest", "GFLOP/s"};
  if (steps) titles.insert(titles.end(), {"step ms", "fastest"});
  Table table(titles);
  for (const ForwardTiming& t : timings) {
    std::vector<std::string> row = {t.model,
                                    std::to_string(t.batch),
                                    with_commas(t.parameters),
                                    fixed_or_small(t.flop / 1e9),
                                    fixed_or_small(t.forward_s.median * 1e3),
                                    fixed_or_small(t.forward_s.min * 1e3),
                                    fmt::format("{:.1f}", t.flop / t.forward_s.median / 1e9)};
    if (steps) {
      row.push_back(fixed_or_small(t.step_s.median * 1e3));
      row.push_back(fixed_or_small(t.step_s.min * 1e3));
    }
    table.row(row);
  }
  std::vector<Sampled> medians;
  for (const ForwardTiming& t : timings) medians.insert(medians.end(), {t.forward_s, t.step_s});
  print(table.str() + "\nMedians and the fastest; random images, weights as initialised.\n" +
        sampling_note(medians));
}

void run(const Request& r) {
  if (r.timing.batch < 1) reject("--batch is {}; it must be at least 1", r.timing.batch);
  if (!(r.timing.seconds > 0 && r.timing.seconds <= 3600))
    reject("--seconds is {}; it must lie between 0 and 3600", r.timing.seconds);
  if (r.models.empty())
    reject(Hint{"headroom model list names them"}, "bench forward needs a network to time");
  const auto device = r.common.open();
  std::vector<ForwardTiming> timings;
  EngineOptions options = r.common.engine_options();
  options.update.momentum = 0.9;
  {
    Progress progress("bench");
    for (const std::string& model : r.models) {
      progress.update(0, 0, model);
      timings.push_back(bench_forward(*device, options, find_net(model), r.timing));
    }
  }
  if (!r.common.json) return print_timings(timings, r.timing.steps);
  Json nets = Json::array();
  for (const ForwardTiming& t : timings) nets.push_back(to_json(t));
  print_json({{"device", device->capabilities().name},
              {"threads", device->capabilities().threads},
              {"precision", r.common.precision},
              {"nets", nets}});
}

}  // namespace

void add_bench_forward(Command verb) {
  auto r = std::make_shared<Request>();
  Command forward = verb.verb("forward", "networks of your choice forward, and on request a training step");
  forward.option("model", r->models, "zoo names with options, net.json or ONNX files");
  add_run_options(forward, r->common);
  forward.option("--batch", r->timing.batch, "images at once");
  forward.option("--seconds", r->timing.seconds, "how long each is timed");
  forward.flag("--step", r->timing.steps, "also time training steps with momentum");
  forward.example("headroom bench forward lenet5 examples/tiny-net.json --batch 16");
  forward.runs([r] { run(*r); });
}

}  // namespace headroom::cli
