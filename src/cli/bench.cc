#include "cli/bench.h"
#include "base/json.h"
#include "bench/operators.h"
#include "cli/bench_output.h"
#include "cli/bench_predicted.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "report/record.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

struct BenchOpsRequest {
  Common common;
  int rounds = 9;
  std::vector<std::string> operators;
  BenchTarget target;
};

Json to_json(const OperatorBench& bench, const Machine& machine) {
  Json list = Json::array();
  for (const OperatorTiming& t : bench.timings) {
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
    add_predicted(list.back(), "", t.predicted, t.seconds.median);
  }
  return {{"device", machine.title}, {"operators", list}, {"left_out", bench.left_out}};
}

// An update names every tensor it changes; --json has the whole text.
std::string shortened(std::string problem) {
  constexpr std::size_t kWidest = 64;
  if (problem.size() > kWidest) problem = problem.substr(0, kWidest - 1) + "…";
  return problem;
}

BenchTable operators_table(const OperatorBench& bench) {
  using enum Column::Format;
  std::vector<Column> columns = {
      {.key = "problem", .title = "problem"},
      {.key = "kernel", .title = "kernel", .left = true},
      {.key = "ms", .title = "ms", .unit = "ms"},
      {.key = "gb_per_s", .title = "GB/s", .unit = "GB/s", .format = tenths, .priority = 1},
      {.key = "gflops_per_s", .title = "GFLOP/s", .unit = "GFLOP/s", .format = tenths, .priority = 4},
      {.key = "level", .title = "in", .priority = 3},
      {.key = "fraction_of_bandwidth", .title = "of its bandwidth", .format = hundredths, .priority = 2},
      {.key = "fraction_of_copy", .title = "of a copy", .format = hundredths, .priority = 2},
      {.key = "percent_of_roofline", .title = "% of roofline", .unit = "%", .format = tenths}};
  append(columns, predicted_columns());
  Sheet sheet("operators", columns);
  std::vector<Sampled> medians;
  for (const OperatorTiming& t : bench.timings) {
    std::vector<Cell> cells = {
        shortened(t.problem.str()),        t.kernel, t.seconds.median * 1e3, t.bytes_per_s() / 1e9,
        t.flops / t.seconds.median / 1e9,  t.level,  t.share_of_bandwidth(), t.share_of_copy(),
        100 * t.floor_s / t.seconds.median};
    append(cells, predicted_cells(t.predicted, t.seconds.median));
    sheet.row(cells);
    medians.insert(medians.end(), {t.seconds, t.copy_seconds});
  }
  std::string below =
      "\nGB/s: inputs and outputs once. In: the level of memory that holds them; its bandwidth was measured "
      "by "
      "reading.\nOf a copy: against memcpy of as many bytes on as many threads, in turn. Medians, warm.\n" +
      sampling_note(medians);
  for (const std::string& reason : bench.left_out) below += fmt::format("Left out: {}\n", reason);
  return {sheet, "", below};
}

void add_bench_operators(Command verb) {
  auto r = std::make_shared<BenchOpsRequest>();
  Command ops = verb.verb("ops", "operators alone on large tensors, against bandwidth and roofline");
  ops.option("operator", r->operators, "names of operators; all by default");
  add_run_options(ops, r->common, Explains::no);
  add_bench_output(ops, r->target);
  ops.option("--rounds", r->rounds, "samples per operator");
  ops.example("headroom bench ops add batch_norm softmax");
  ops.runs([r] {
    require_rounds(r->rounds);
    require_output(r->target, r->common);
    if (r->common.precision != "fp32")
      reject(Hint{"leave it out; bench nets and bench gemm take others"},
             "--precision is {}; bench ops times its operators in fp32", r->common.precision);
    const auto device = r->common.open();
    const Machine machine = r->common.machine(*device);
    OperatorBench bench;
    {
      Progress progress("bench");
      bench = bench_operators(*device, machine, r->common.chooser(), r->operators, r->rounds,
                              [&](const std::string& name) { progress.stage(name); });
    }
    finish_bench({"bench ops", {operators_table(bench)}, to_json(bench, machine)}, r->common, r->target,
                 &machine);
  });
}

}  // namespace

void add_bench(Command app) {
  Command verb = app.verb("bench", "time workloads against this machine's own best");
  add_bench_operators(verb);
  add_bench_switches(verb);
  add_bench_work(verb);
  add_bench_forward(verb);
  add_bench_profiler(verb);
  add_bench_gemm(verb);
  add_bench_conv2d(verb);
  add_bench_nets(verb);
  add_bench_allreduce(verb);
  add_bench_perceptron(verb);
  add_bench_vadd(verb);
  add_bench_copy(verb);
  add_bench_alloc(verb);
}

}  // namespace headroom::cli
