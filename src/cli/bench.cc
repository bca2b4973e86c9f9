#include "cli/bench.h"
#include "base/table.h"
#include "bench/operators.h"
#include "bench/switches.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "report/record.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

struct Request {
  Common common;
  int rounds = 9;
  std::vector<std::string> operators;
};

Json to_json(const std::vector<OperatorTiming>& timings, const Machine& machine) {
  Json list = Json::array();
  for (const OperatorTiming& t : timings)
    list.push_back({{"operator", t.problem.op},
                    {"problem", t.problem.str()},
                    {"kernel", t.kernel},
                    {"ms", spread_json(t.seconds)},
                    {"gb_per_s", t.bytes_per_s() / 1e9},
                    {"gflops_per_s", t.flops / t.seconds.median / 1e9},
                    {"level", t.level},
                    {"fraction_of_bandwidth", t.share_of_bandwidth()},
                    {"fraction_of_copy", t.share_of_copy()},
                    {"copy_ms", spread_json(t.copy_seconds)},
                    {"floor_ms", t.floor_s * 1e3},
                    {"bound", t.bound},
                    {"percent_of_roofline", 100 * t.floor_s / t.seconds.median}});
  return {{"device", machine.title}, {"operators", list}};
}

// An update names every tensor it changes; the whole text is in --json.
std::string shortened(std::string problem) {
  constexpr std::size_t kWidest = 64;
  if (problem.size() > kWidest) problem = problem.substr(0, kWidest - 1) + "…";
  return problem;
}

void print_operators(const std::vector<OperatorTiming>& timings) {
  Table table(
      {"problem", "kernel", "ms", "GB/s", "GFLOP/s", "in", "of its bandwidth", "of a copy", "% of roofline"});
  table.left(1);
  for (const OperatorTiming& t : timings)
    table.row({shortened(t.problem.str()), t.kernel, fixed_or_small(t.seconds.median * 1e3),
               fmt::format("{:.1f}", t.bytes_per_s() / 1e9),
               fmt::format("{:.1f}", t.flops / t.seconds.median / 1e9), t.level,
               fmt::format("{:.2f}", t.share_of_bandwidth()), fmt::format("{:.2f}", t.share_of_copy()),
               fmt::format("{:.1f}", 100 * t.floor_s / t.seconds.median)});
  print(table.str());
  print(
      "\nGB/s: inputs and outputs once. In: the level of memory that holds them; its bandwidth was measured "
      "by "
      "reading.\nOf a copy: against memcpy of as many bytes on as many threads, in turn. Medians, warm.\n");
  std::vector<Sampled> medians;
  for (const OperatorTiming& t : timings) medians.insert(medians.end(), {t.seconds, t.copy_seconds});
  print(sampling_note(medians));
}

void add_bench_operators(Command verb) {
  auto r = std::make_shared<Request>();
  Command ops = verb.verb("ops", "operators alone on large tensors, against bandwidth and roofline");
  ops.option("operator", r->operators, "names of operators; all of them where none is given");
  add_run_options(ops, r->common);
  ops.option("--rounds", r->rounds, "samples of each");
  ops.example("headroom bench ops add batch_norm softmax");
  ops.runs([r] {
    require_rounds(r->rounds);
    const auto device = r->common.open();
    const Machine machine = r->common.machine(*device);
    std::vector<OperatorTiming> timings;
    {
      Progress progress("bench");
      timings = bench_operators(*device, machine, r->common.chooser(), r->operators, r->rounds,
                                [&](const std::string& name) { progress.update(0, 0, name); });
    }
    if (r->common.json) return print_json(to_json(timings, machine));
    print_operators(timings);
  });
}

Json to_json(const std::vector<SwitchTiming>& timings, const Device& device) {
  Json list = Json::array();
  for (const SwitchTiming& t : timings)
    list.push_back({{"model", t.model},
                    {"batch", t.batch},
                    {"switches", t.switches.name},
                    {"resident", t.switches.feed.resident},
                    {"pinned", t.switches.feed.pinned},
                    {"overlap", t.switches.feed.overlap},
                    {"graph", t.switches.capture},
                    {"feed", t.feed},
                    {"epoch_ms", t.epoch_s * 1e3},
                    {"images_per_s", double(t.images) / t.epoch_s}});
  Json hidden = Json::object();
  for (const SwitchTiming& t : timings) hidden[t.model] = hidden_share(timings, t.model);
  return {{"device", device.capabilities().name}, {"timings", list}, {"copy_hidden", hidden}};
}

void print_switches(const std::vector<SwitchTiming>& timings) {
  Table table({"model", "batch", "switches", "batches come", "epoch ms", "images/s", "times slower"});
  table.left(2), table.left(3);
  std::string model;
  double best = 0;
  for (const SwitchTiming& t : timings) {
    if (t.model != model) model = t.model, best = t.epoch_s;
    table.row({t.model, std::to_string(t.batch), t.switches.name, t.feed, fixed_or_small(t.epoch_s * 1e3),
               with_commas(std::llround(double(t.images) / t.epoch_s)),
               fmt::format("{:.2f}", t.epoch_s / best)});
  }
  print(table.str() + "\n");
  model.clear();
  for (const SwitchTiming& t : timings) {
    if (t.model == model) continue;
    model = t.model;
    print(fmt::format("{}: {:.0f} % of the copying is hidden by overlapping\n", model,
                      100 * hidden_share(timings, model)));
  }
}

void add_bench_switches(Command verb) {
  auto r = std::make_shared<Request>();
  r->common.device = "cuda";
  r->rounds = 3;
  Command switches = verb.verb("switches", "training with each improvement of the GPU path on and off");
  add_run_options(switches, r->common);
  switches.option("--rounds", r->rounds, "epochs of each; the best counts");
  switches.example("headroom bench switches --device cuda");
  switches.runs([r] {
    require_rounds(r->rounds);
    const auto device = r->common.open();
    std::vector<SwitchTiming> timings;
    {
      Progress progress("bench");
      timings = bench_switches(*device, r->common.engine_options(), r->rounds,
                               [&](const std::string& stage) { progress.line(stage); });
    }
    if (r->common.json) return print_json(to_json(timings, *device));
    print_switches(timings);
  });
}

}  // namespace

void add_bench(Command app) {
  Command verb = app.verb("bench", "time workloads against this machine's own best");
  add_bench_operators(verb);
  add_bench_switches(verb);
  add_bench_forward(verb);
  add_bench_nets(verb);
  add_bench_allreduce(verb);
  add_bench_perceptron(verb);
}

}  // namespace headroom::cli
