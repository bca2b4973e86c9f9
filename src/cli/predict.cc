#include "predict/predict.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/predict_rows.h"
#include "cli/run_setup.h"
#include "cli/verbs.h"
#include "models/layers.h"
#include "report/kernel_sheet.h"
#include "report/layers.h"
#include "report/unknown.h"
#include "timing/kernel_form.h"
#include "train/settings.h"

namespace headroom::cli {
namespace {

constexpr const char *kDefaultBatches = "64", *kDefaultMachine = "here";

// Options that say nothing about a table of a kernel's sizes.
constexpr const char* kOfNetworks[] = {"--csv",    "--copies",  "--mode",     "--batch",        "--dim",
                                       "--device", "--seed",    "--threads",  "--layout",       "--kernel",
                                       "--choose", "--streams", "--no-graph", "--deterministic"};

std::vector<std::int64_t> batches_of(const PredictRequest& r, const Net& net) {
  std::vector<std::int64_t> batches;
  for (const std::string& text : split(r.batches, ',')) {
    batches.push_back(parse_int(text, "--batch"));
    if (batches.back() < 1) reject("--batch is {}; it must be at least 1", batches.back());
  }
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0) return {fixed};  // from its file
  return batches;
}

// A network from a file may not be trainable here; its forward pass still has a cost.
std::string usual_mode(const Net& net, std::int64_t batch) {
  if (!net.imported) return "train";
  try {
    make_program(net, {.mode = Mode::train, .batch = batch, .fusion = Fusion::none});
    return "train";
  } catch (const Error& error) {
    note(fmt::format("{}: --mode eval\n", with_options(error.what())));
    return "eval";
  }
}

// No time is given for a step that cannot run.
std::string does_not_fit(const Forecast& f) {
  const std::string advice = f.largest_batch > 0
                                 ? fmt::format("The largest batch that fits is {}.", f.largest_batch)
                                 : std::string("No smaller batch fits either.");
  return fmt::format("Does not fit: the step needs {} of memory, {} has {}. {}\n\n",
                     human_bytes(f.memory_needed), f.prediction.machine, human_bytes(f.memory_there), advice);
}

// Kernels have tables of sizes, networks do not.
bool predicts_table(const PredictRequest& r) {
  if (is_form(r.model)) return true;
  const PredictTableRequest& t = r.table;
  if (t.table.empty() && t.constants.empty() && t.out.empty()) return false;
  std::string kernels;
  for (const KernelForm* form : kernel_forms()) kernels += (kernels.empty() ? "" : ", ") + form->name();
  reject(Hint{"kernels: " + kernels}, "--table, --constants and --output are for kernels; '{}' is not one",
         r.model);
}

void run_table(const PredictRequest& r) {
  if (!r.of_networks.empty())
    reject(Hint{"the rows of --table say what is predicted; -o writes them as CSV"},
           "{} is for networks; '{}' is a kernel", r.of_networks.front(), r.model);
  PredictTableRequest table = r.table;
  table.form = r.model, table.machine = r.machines;
  run_predict_table(table, r.common);
}

void print_layers(const Forecast& f, const PredictRequest& r, const Net& net, Mode mode) {
  const Plan& plan = f.built->plan;
  const Prediction& p = f.prediction;
  print(fmt::format("{}, batch {}, {}, one {} step on {}:\n\n", net.name, plan.binding.batch,
                    r.common.precision, mode == Mode::train ? "training" : "inference", p.machine));
  print(f.fits() ? layer_sheet(read_layers(plan, p), p.has_times).text(r.common.tables.layers()) + "\n"
                 : does_not_fit(f));
}

// The machine of the request that has this name; a file's is written in it. Its warnings were given before.
Machine requested(const std::string& name, const PredictRequest& r) {
  if (!every_machine(r))
    for (const std::string& word : named_machines(r))
      if (Machine machine = machine_named(word, r.common.threads); machine.name == name) return machine;
  return machine_named(name, r.common.threads);
}

// Why each kernel was chosen, and what is known of it on that machine. Beside JSON or CSV all of it goes to
// standard error.
void explain(const Forecast& f, const PredictRequest& r, bool one_of_several) {
  const Machine machine = requested(f.prediction.machine, r);
  std::string what = machine.name;
  if (one_of_several) note(fmt::format("{}:\n", what += fmt::format(", batch {}", f.batch)));
  note(f.built->explain());
  const auto show = r.common.json || r.csv ? note : print;
  show(fmt::format("kernels on {}:\n", what));
  show(kernel_sheet(f.built->plan, f.prediction, machine).text(r.common.tables.view()) + "\n");
}

// Machines whose int8 rate is not known, if the network has int8 products.
std::string int8_notes(const std::vector<PredictRow>& rows, const PredictRequest& r) {
  std::string notes;
  for (const PredictRow& row : rows) {
    if (!row.outlook.forecast || !row.outlook.forecast->built) continue;
    const std::string text = int8_fallback(row.outlook.forecast->built->plan, requested(row.machine, r));
    if (!text.empty() && notes.find(text) == std::string::npos)
      notes += "\n" + paragraph(text, r.common.tables.view());
  }
  return notes;
}

// GPUs for which none of our kernels can be built, and those of which nobody knows whether any can.
std::string library_notes(const std::vector<PredictRow>& rows, const PredictRequest& r) {
  std::vector<std::string> old, unknown;
  for (const PredictRow& row : rows) {
    if (!row.outlook.forecast || !row.outlook.forecast->by_libraries) continue;
    std::vector<std::string>& names = requested(row.machine, r).compute_capability > 0 ? old : unknown;
    if (std::ranges::find(names, row.machine) == names.end()) names.push_back(row.machine);
  }
  std::string notes;
  const auto add = [&](const std::vector<std::string>& names, const char* text) {
    if (names.empty()) return;
    notes += "\n" + paragraph(fmt::format("Of {}: {}", fmt::join(names, ", "), text), r.common.tables.view());
  };
  add(old,
      "no kernel of this program is built for GPUs older than compute capability 7.5. The times are what "
      "NVIDIA's libraries are assumed to take there.");
  add(unknown,
      "the machine's file does not say its compute_capability. The times are what NVIDIA's libraries "
      "are assumed to take there.");
  return notes;
}

// The rows that --explain explains: every machine and batch once, but of many only the first.
std::vector<const Forecast*> explained_of(const std::vector<PredictRow>& rows, const PredictRequest& r) {
  constexpr std::size_t kMaxExplained = 4;
  std::vector<const Forecast*> list;
  if (!r.common.explain) return list;
  for (const PredictRow& row : rows) {
    if (!row.outlook.forecast) continue;
    const Forecast& f = *row.outlook.forecast;
    const auto same = [&](const Forecast* other) {
      return other->batch == f.batch && other->prediction.machine == f.prediction.machine;
    };
    if (std::ranges::none_of(list, same)) list.push_back(&f);
  }
  if (list.size() <= kMaxExplained) return list;
  warn(fmt::format(
      "--explain is for at most {} machines and batches: of these {}, only {} with a batch of {} is "
      "explained",
      kMaxExplained, list.size(), list.front()->prediction.machine, list.front()->batch));
  list.resize(1);
  return list;
}

void run_net(const PredictRequest& r) {
  if (r.common.json && r.csv) reject(Hint{"give only one of the two"}, "--json and --csv exclude each other");
  require_tables(r.common.tables, layer_sheet({}, true));
  r.common.open();  // nothing runs on it; rejects an impossible device or thread count
  const Net net = find_net(with_dims(r.model, r.dims));
  const std::vector<std::int64_t> batches = batches_of(r, net);
  const std::string wanted = r.mode.empty() ? usual_mode(net, batches.front()) : r.mode;
  if (wanted != "train" && wanted != "eval")
    reject(nearest(wanted, std::vector<std::string>{"train", "eval"}), "unknown mode '{}'", wanted);
  const Mode mode = wanted == "train" ? Mode::train : Mode::eval;
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0 && r.batches != kDefaultBatches)
    note(fmt::format("'{}' has a batch of {}, set by its file; --batch has no effect\n", net.name, fixed));

  std::vector<PredictRow> rows;
  for (const std::int64_t batch : batches)
    for (PredictRow& row : forecasts(r, net, mode, batch)) rows.push_back(std::move(row));
  const std::vector<const Forecast*> explained = explained_of(rows, r);
  if (r.common.json || r.csv)
    for (const Forecast* f : explained) explain(*f, r, explained.size() > 1);
  if (r.common.json) {
    Json list = Json::array();
    for (const PredictRow& row : rows) list.push_back(row_json(row, !every_machine(r)));
    Json json = {
        {"model", net.name}, {"mode", wanted}, {"precision", r.common.precision}, {"predictions", list}};
    if (net.imported && mode == Mode::eval) add_unknown(json, make_forward(net, batches.front(), DType::f32));
    return print_json(json);
  }
  const std::string gaps =
      net.imported && mode == Mode::eval
          ? unknown_text(make_forward(net, batches.front(), DType::f32), r.common.tables.view())
          : std::string();
  if (r.csv) return print(summary_sheet(rows, net).csv()), note(gaps);
  // Several machines are compared in one table. The layers of one of them have to be asked for.
  const bool layers = rows.size() == batches.size() || r.common.tables.for_layers();
  for (const PredictRow& row : rows) {
    if (!row.outlook.forecast) continue;
    if (std::ranges::find(explained, &*row.outlook.forecast) != explained.end())
      explain(*row.outlook.forecast, r, explained.size() > 1);
    if (layers) print_layers(*row.outlook.forecast, r, net, mode);
  }
  print(summary_sheet(rows, net).text(r.common.tables.view()));
  print(gaps);
  print(int8_notes(rows, r));
  print(library_notes(rows, r));
  print(
      "\n" +
      paragraph("Floor: max(FLOPs / peak, bytes / bandwidth) per step, added up. A program that runs "
                "these steps one by one cannot take less; one that fuses more of them can. "
                "Predicted: what the chosen kernels should take, and the interval that 9 of 10 such runs "
                "stay in. Its constants are fitted to the machine (calibrated, by headroom calibrate), to "
                "another of its kind (shared), or assumed. Copies: the batch from the host, behind the step "
                "before; --copies makes the step wait for them.",
                r.common.tables.view()));
}

void run(const PredictRequest& r) {
  if (predicts_table(r)) return run_table(r);
  PredictRequest request = r;
  if (request.machines.empty()) request.machines = kDefaultMachine;
  run_net(request);
}

}  // namespace

void add_predict(Command app) {
  auto r = std::make_shared<PredictRequest>();
  r->batches = kDefaultBatches;
  Command verb = app.verb("predict", "predict the cost of a network on machines you need not have");
  verb.required(
      "model", r->model,
      "zoo name with options, a net.json or an ONNX file; with --table gemm, linear, conv2d, collective");
  verb.option("--machine", r->machines,
              "names from headroom machine list or JSON files, comma-separated, default here; all: every "
              "machine of the list; with --table one, or a calibration, default the device of each row");
  verb.option("--batch", r->batches, "images per step, comma-separated");
  verb.option("--mode", r->mode, "train or eval; by default train if the network can be trained");
  verb.flag("--csv", r->csv, "print one line for each machine and batch as comma-separated values");
  verb.flag("--copies", r->copies,
            "images come from the host with every step: the step takes as long as the longer of the two");
  verb.option("--table", r->table.table, "CSV with the sizes of a kernel's calls: predicts each row");
  verb.option("--constants", r->table.constants, "with --table: constants written by headroom calibrate");
  verb.option("-o,--output", r->table.out,
              "with --table: the CSV to write, with predicted_us, low_us, high_us");
  add_dim_option(verb, r->dims);
  add_run_options(verb, r->common);
  add_layer_table_options(verb, r->common.tables);
  verb.example("headroom predict lenet5 --machine h200 --batch 1,256");
  verb.example("headroom predict resnet:depth=50 --machine all --batch 64 --precision bf16");
  verb.example("headroom predict gemm --table rows.csv --machine h200 -o out.csv");
  verb.runs([r, verb] {
    if (verb.given("--precision")) r->table.precision = r->common.precision;
    for (const char* option : kOfNetworks)
      if (verb.given(option)) r->of_networks.emplace_back(option);
    run(*r);
  });
}

}  // namespace headroom::cli
