#include "base/table.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "predict/predict.h"
#include "profile/bench_operators.h"
#include "report/record.h"
#include "train/bench_nets.h"
#include "train/bench_switches.h"

namespace headroom::cli {
namespace {

struct Request {
  Common common;
  int rounds = 9;
  std::vector<std::string> operators;
};

void require_rounds(int rounds) {
  if (rounds < 1 || rounds > 1000) reject("--rounds is {}; it must lie between 1 and 1000", rounds);
}

// The peak that a product in this precision is held against.
double peak_of(const Machine& machine, const Common& common) {
  return product_peak(machine, common.dtype(), common.tf32());
}

Json to_json(const NetBench& bench, const Machine& machine, const Common& common) {
  Json workloads = Json::array();
  const double base = bench.product.flop_per_s();
  for (const NetTiming& t : bench.nets) {
    workloads.push_back({{"name", t.workload.model},
                         {"batch", t.workload.batch},
                         {"parameters", t.parameters},
                         {"forward_ms", t.forward_s.median * 1e3},
                         {"step_ms", t.step_s.median * 1e3},
                         {"gflop", t.step_flop / 1e9},
                         {"gflops_per_s", t.flop_per_s() / 1e9},
                         {"fraction_of_sgemm", t.flop_per_s() / base},
                         {"forward_fraction_of_sgemm", t.forward_flop_per_s() / base},
                         {"forward", spread_json(t.forward_s)},
                         {"step", spread_json(t.step_s)}});
    if (t.epoch_s.samples > 0) {
      workloads.back()["epoch_ms"] = t.epoch_s.median * 1e3;
      workloads.back()["epoch_images"] = t.workload.epoch_images;
      workloads.back()["epoch"] = spread_json(t.epoch_s);
    }
  }
  return {{"device", machine.title},
          {"precision", common.precision},
          {"sgemm",
           {{"size", bench.product.size},
            {"threads", bench.product.threads},
            {"gflops_per_s", base / 1e9},
            {"fraction_of_peak", base / peak_of(machine, common)},
            {"ms", spread_json(bench.product.seconds)}}},
          {"workloads", workloads}};
}

void print_bench(const NetBench& bench, const Machine& machine, const Common& common) {
  const double base = bench.product.flop_per_s(), peak = peak_of(machine, common);
  const bool epochs = bench.nets.at(0).epoch_s.samples > 0;
  std::vector<std::string> titles = {"workload", "batch",   "forward ms", "step ms",         "10 to 90 %",
                                     "GFLOP",    "GFLOP/s", "of sgemm",   "forward of sgemm"};
  if (epochs) titles[7] = "of matmul", titles[8] = "forward of matmul", titles.push_back("epoch ms");
  Table table(titles);
  for (const NetTiming& t : bench.nets) {
    std::vector<std::string> row = {
        t.workload.model,
        std::to_string(t.workload.batch),
        fixed_or_small(t.forward_s.median * 1e3),
        fixed_or_small(t.step_s.median * 1e3),
        fmt::format("{} to {}", fixed_or_small(t.step_s.p10 * 1e3), fixed_or_small(t.step_s.p90 * 1e3)),
        fixed_or_small(t.step_flop / 1e9),
        fmt::format("{:.1f}", t.flop_per_s() / 1e9),
        fmt::format("{:.3f}", t.flop_per_s() / base),
        fmt::format("{:.3f}", t.forward_flop_per_s() / base)};
    if (epochs) row.push_back(t.epoch_s.samples > 0 ? fixed_or_small(t.epoch_s.median * 1e3) : "");
    table.row(row);
  }
  print(table.str());
  const std::string where = bench.product.threads > 0
                                ? fmt::format("sgemm on {} threads", bench.product.threads)
                                : fmt::format("matmul in {}", common.precision);
  print(
      fmt::format("\n{0} of {1}x{1}x{1}, {2}, {3:.1f} % of the measured peak ({4}). Medians of {5} "
                  "rounds, in turn.\n",
                  where, bench.product.size, si(base, "FLOP/s"), 100 * base / peak, si(peak, "FLOP/s"),
                  bench.product.seconds.samples));
}

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
  auto r = std::make_shared<Request>();
  Command verb = app.verb("bench", "time workloads against this machine's own best");
  add_bench_operators(verb);
  add_bench_switches(verb);
  add_bench_forward(verb);
  Command nets = verb.verb("nets", "training steps of the published networks, as a share of sgemm's rate");
  add_run_options(nets, r->common);
  nets.option("--rounds", r->rounds, "how often everything is timed in turn");
  nets.example("headroom bench nets --device cpu");
  nets.runs([r] {
    require_rounds(r->rounds);
    const auto device = r->common.open();
    const Machine machine = r->common.machine(*device);
    NetBench bench;
    {
      Progress progress("bench");
      bench = bench_nets(*device, r->common.engine_options(), net_workloads(device->kind()), r->rounds,
                         [&](const std::string& stage) { progress.line(stage); });
    }
    if (r->common.json) return print_json(to_json(bench, machine, r->common));
    print_bench(bench, machine, r->common);
  });
}

}  // namespace headroom::cli
