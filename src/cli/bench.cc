#include "base/table.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "machine/roofline.h"
#include "profile/bench_operators.h"
#include "report/record.h"
#include "train/bench_nets.h"

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

Json to_json(const NetBench& bench, const Machine& machine, const Common& common) {
  Json workloads = Json::array();
  for (const NetTiming& t : bench.nets)
    workloads.push_back({{"name", t.workload.model},
                         {"batch", t.workload.batch},
                         {"forward_ms", t.forward_s.median * 1e3},
                         {"step_ms", t.step_s.median * 1e3},
                         {"gflop", t.step_flop / 1e9},
                         {"gflops_per_s", t.flop_per_s() / 1e9},
                         {"fraction_of_sgemm", t.flop_per_s() / bench.sgemm.flop_per_s()},
                         {"forward_fraction_of_sgemm", t.forward_flop_per_s() / bench.sgemm.flop_per_s()},
                         {"forward", spread_json(t.forward_s)},
                         {"step", spread_json(t.step_s)}});
  const double peak = machine.peak_flops.at("fp32");
  return {{"device", machine.title},
          {"precision", common.precision},
          {"sgemm",
           {{"size", 2048},
            {"threads", bench.sgemm.threads},
            {"gflops_per_s", bench.sgemm.flop_per_s() / 1e9},
            {"fraction_of_peak", bench.sgemm.flop_per_s() / peak},
            {"ms", spread_json(bench.sgemm.seconds)}}},
          {"workloads", workloads}};
}

void print_bench(const NetBench& bench, const Machine& machine) {
  Table table({"workload", "batch", "forward ms", "step ms", "10 to 90 %", "GFLOP", "GFLOP/s", "of sgemm",
               "forward of sgemm"});
  for (const NetTiming& t : bench.nets)
    table.row(
        {t.workload.model, std::to_string(t.workload.batch), fixed_or_small(t.forward_s.median * 1e3),
         fixed_or_small(t.step_s.median * 1e3),
         fmt::format("{} to {}", fixed_or_small(t.step_s.p10 * 1e3), fixed_or_small(t.step_s.p90 * 1e3)),
         fixed_or_small(t.step_flop / 1e9), fmt::format("{:.1f}", t.flop_per_s() / 1e9),
         fmt::format("{:.3f}", t.flop_per_s() / bench.sgemm.flop_per_s()),
         fmt::format("{:.3f}", t.forward_flop_per_s() / bench.sgemm.flop_per_s())});
  print(table.str());
  print(
      fmt::format("\nsgemm 2048x2048x2048: {} on {} threads, {:.1f} % of the measured FMA peak ({}). Medians "
                  "of {} rounds, "
                  "in turn.\n",
                  si(bench.sgemm.flop_per_s(), "FLOP/s"), bench.sgemm.threads,
                  100 * bench.sgemm.flop_per_s() / machine.peak_flops.at("fp32"),
                  si(machine.peak_flops.at("fp32"), "FLOP/s"), bench.sgemm.seconds.samples));
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
    const Machine machine = here_or_measure(r->common.threads, 1.5);
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

}  // namespace

void add_bench(Command app) {
  auto r = std::make_shared<Request>();
  Command verb = app.verb("bench", "time workloads against this machine's own best");
  add_bench_operators(verb);
  Command nets = verb.verb("nets", "training steps of the published networks, as a share of sgemm's rate");
  add_run_options(nets, r->common);
  nets.option("--rounds", r->rounds, "how often everything is timed in turn");
  nets.example("headroom bench nets --device cpu");
  nets.runs([r] {
    require_rounds(r->rounds);
    const auto device = r->common.open();
    const Machine machine = here_or_measure(r->common.threads, 1.5);
    NetBench bench;
    {
      Progress progress("bench");
      bench = bench_nets(*device, r->common.dtype(), net_workloads(), r->rounds,
                         [&](const std::string& stage) { progress.line(stage); });
    }
    if (r->common.json) return print_json(to_json(bench, machine, r->common));
    print_bench(bench, machine);
  });
}

}  // namespace headroom::cli
