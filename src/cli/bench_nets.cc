#include "bench/nets.h"

#include "base/json.h"
#include "base/text.h"
#include "bench/random_batch.h"
#include "cli/bench.h"
#include "cli/bench_predicted.h"
#include "cli/progress.h"
#include "models/onnx/imported.h"
#include "predict/predict.h"
#include "report/sampling.h"
#include "train/program.h"

namespace headroom::cli {
namespace {

struct BenchNetsRequest {
  Common common;
  std::optional<std::int64_t> rounds;
  std::int64_t batch = 0;
  std::string sets;
  std::vector<std::string> models;
  bool no_check = false;
  BenchTarget target;
};

// The peak with which a product in this precision is compared.
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
    add_predicted(workloads.back(), "forward_", t.predicted_forward, t.forward_s.median);
    add_predicted(workloads.back(), "step_", t.predicted_step, t.step_s.median);
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

Sheet nets_sheet(const NetBench& bench) {
  using enum Column::Format;
  const double base = bench.product.flop_per_s();
  const bool epochs = bench.nets.at(0).epoch_s.samples > 0;
  std::vector<Column> columns = {
      {.key = "name", .title = "workload"},
      {.key = "batch", .title = "batch"},
      {.key = "forward_ms", .title = "forward ms", .unit = "ms"},
      {.key = "step_ms", .title = "step ms", .unit = "ms"},
      {.key = "step_p10_to_p90", .title = "10 to 90 %", .priority = 4},
      {.key = "gflop", .title = "GFLOP", .unit = "GFLOP", .priority = 3},
      {.key = "gflops_per_s", .title = "GFLOP/s", .unit = "GFLOP/s", .format = tenths},
      {.key = "fraction_of_sgemm",
       .title = epochs ? "of matmul" : "of sgemm",
       .format = thousandths,
       .priority = 1},
      {.key = "forward_fraction_of_sgemm",
       .title = epochs ? "forward of matmul" : "forward of sgemm",
       .format = thousandths,
       .priority = 2},
      {.key = "epoch_ms", .title = epochs ? "epoch ms" : "", .unit = "ms", .priority = 3}};
  append(columns, predicted_columns("step_"));
  Sheet sheet("nets", columns);
  for (const NetTiming& t : bench.nets) {
    std::vector<Cell> cells = {
        t.workload.model,
        std::int64_t{t.workload.batch},
        t.forward_s.median * 1e3,
        t.step_s.median * 1e3,
        fmt::format("{} to {}", fixed_or_small(t.step_s.p10 * 1e3), fixed_or_small(t.step_s.p90 * 1e3)),
        t.step_flop / 1e9,
        t.flop_per_s() / 1e9,
        t.flop_per_s() / base,
        t.forward_flop_per_s() / base,
        known(t.epoch_s.median * 1e3)};
    append(cells, predicted_cells(t.predicted_step, t.step_s.median));
    sheet.row(cells);
  }
  return sheet;
}

BenchTable nets_table(const NetBench& bench, const Machine& machine, const Common& common) {
  const double base = bench.product.flop_per_s(), peak = peak_of(machine, common);
  const std::string where = bench.product.threads > 0
                                ? fmt::format("sgemm on {}", counted(bench.product.threads, "thread"))
                                : fmt::format("matmul in {}", common.precision);
  std::vector<Sampled> medians = {bench.product.seconds};
  for (const NetTiming& t : bench.nets) medians.insert(medians.end(), {t.forward_s, t.step_s, t.epoch_s});
  return {nets_sheet(bench), "",
          fmt::format("\n{0} of {1}x{1}x{1}, {2}, {3:.1f} % of the measured peak ({4}). Medians of {5}, "
                      "in turn.\n",
                      where, bench.product.size, si(base, "FLOP/s"), 100 * base / peak, si(peak, "FLOP/s"),
                      counted(bench.product.seconds.samples, "round")) +
              predicted_note(bench.nets.at(0).predicted_step.basis, common.device) + sampling_note(medians)};
}

constexpr std::int64_t kUsualBatch = 128;
constexpr int kUsualRounds = 9, kUsualConvnetRounds = 5;
const std::vector<std::string> kSets = {"course", "convnets", "layers"};

// Sets that take minutes on a CPU run only on request.
std::vector<std::string> sets_of(const BenchNetsRequest& r, DeviceKind device) {
  if (!r.models.empty()) {
    if (!r.sets.empty())
      reject(Hint{"give only one of the two"}, "--set and named networks exclude each other");
    return {};
  }
  if (r.sets.empty()) return device == DeviceKind::cpu ? std::vector<std::string>{"course"} : kSets;
  std::vector<std::string> sets = split(r.sets, ',');
  for (const std::string& set : sets)
    if (std::find(kSets.begin(), kSets.end(), set) == kSets.end())
      reject(nearest(set, kSets), "--set: no set of networks is called '{}'", set);
  return sets;
}

int rounds_of(const BenchNetsRequest& r, int usual) { return static_cast<int>(r.rounds.value_or(usual)); }

// All columns of the tables that will be printed, for --sort.
Sheet sortable_columns(const BenchNetsRequest& r, const std::vector<std::string>& sets, DeviceKind device) {
  std::vector<Column> columns;
  const auto add = [&](const Sheet& sheet) { append(columns, sheet.columns()); };
  const bool course = std::ranges::find(sets, "course") != sets.end();
  if (course) {
    NetTiming first;
    first.epoch_s.samples = net_workloads(device).front().epoch_images > 0 ? 1 : 0;
    add(nets_sheet({.nets = {first}}));
  }
  const bool whole_nets = !r.models.empty() || std::ranges::find(sets, "convnets") != sets.end();
  if (whole_nets || std::ranges::find(sets, "layers") != sets.end())
    for (const Sheet& sheet : empty_convnet_sheets(whole_nets)) add(sheet);
  return {"nets", columns};
}

void run(const BenchNetsRequest& r) {
  if (r.rounds) require_rounds(*r.rounds);
  require_output(r.target, r.common);
  if (r.batch < 0) reject("--batch is {}; it must be at least 1", r.batch);
  const auto device = r.common.open();
  const std::vector<std::string> sets = sets_of(r, device->kind());
  require_tables(r.common.tables, sortable_columns(r, sets, device->kind()));
  // What is wrong with a network is said before the machine is measured.
  std::vector<ConvnetWorkload> workloads;
  for (const std::string& model : r.models) {
    Net net = find_net(model);
    const std::int64_t fixed = fixed_batch(net);  // set by some files
    require_random_batch(net);
    workloads.push_back({model, std::move(net), fixed > 0 ? fixed : r.batch > 0 ? r.batch : kUsualBatch});
  }
  const Machine machine = r.common.machine(*device);
  auto wanted = [&](const char* set) { return std::find(sets.begin(), sets.end(), set) != sets.end(); };
  BenchOutput output{"bench nets", {}, {{"device", machine.title}, {"precision", r.common.precision}}};
  auto progress_lines = [](Progress& p) { return [&p](const std::string& stage) { p.line(stage); }; };
  if (wanted("course")) {
    Progress progress("bench");
    const NetBench bench =
        bench_nets(*device, machine, r.common.engine_options(), net_workloads(device->kind()),
                   rounds_of(r, kUsualRounds), progress_lines(progress));
    output.json.update(to_json(bench, machine, r.common));
    output.tables.push_back(nets_table(bench, machine, r.common));
  }
  if (wanted("convnets")) workloads = convnet_workloads(r.batch);
  if (wanted("layers"))
    for (ConvnetWorkload& w : layer_workloads(r.batch)) workloads.push_back(std::move(w));
  if (!workloads.empty()) {
    Progress progress("bench");
    ConvnetBenchOptions options{.engine = r.common.engine_options(),
                                .rounds = rounds_of(r, kUsualConvnetRounds)};
    options.check = !r.no_check;
    options.engine.update.momentum = 0.9;
    if (device->kind() == DeviceKind::cpu) options.repeats = 1;  // a step takes seconds there
    const std::vector<ConvnetTiming> timings =
        bench_convnets(*device, machine, workloads, options, progress_lines(progress));
    output.json.update(convnets_json(timings));
    for (BenchTable& table : convnets_tables(timings, machine, r.common.precision))
      output.tables.push_back(std::move(table));
  }
  finish_bench(output, r.common, r.target, &machine);
}

}  // namespace

void require_rounds(std::int64_t rounds) {
  if (rounds < 1 || rounds > 1000) reject("--rounds is {}; it must lie between 1 and 1000", rounds);
}

void add_bench_nets(Command verb) {
  auto r = std::make_shared<BenchNetsRequest>();
  Command nets =
      verb.verb("nets", "the published networks: forward, backward, steps, against this machine's best");
  nets.option("model", r->models, "zoo names with options, or files, in place of a set");
  add_run_options(nets, r->common, Explains::no);
  add_bench_output(nets, r->target);
  add_layer_table_options(nets, r->common.tables);
  nets.option("--set", r->sets, "course, convnets, layers; else course on a CPU, all on a GPU");
  nets.option("--batch", r->batch, "images per step of convnets and layers; by default as published");
  nets.flag("--no-check", r->no_check, "do not compare a GPU's scores with the CPU's first");
  nets.option("--rounds", r->rounds,
              fmt::format("number of timing rounds; else {}, and {} for convnets, layers and named networks",
                          kUsualRounds, kUsualConvnetRounds));
  nets.example("headroom bench nets --device cpu");
  nets.example("headroom bench nets --set convnets --batch 4");
  nets.example("headroom bench nets resnet:depth=18 squeezenet --batch 8");
  nets.runs([r] { run(*r); });
}

}  // namespace headroom::cli
