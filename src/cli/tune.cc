// The verb tune: times the candidates of the kernels that a model would use, and keeps the winners.
#include "plan/tuner.h"

#include "base/json.h"
#include "base/sheet.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/record_files.h"
#include "cli/verbs.h"
#include "models/zoo.h"
#include "train/settings.h"
#include "train/trainer.h"

namespace headroom::cli {
namespace {

struct TuneRequest {
  std::string model, mode;
  std::int64_t batch = 0;
  bool list = false, csv = false;
  std::vector<std::string> dims;
  Common common;
  RecordFiles files;
};

// One winner, of a plan or of the table.
struct Row {
  TuningKey key;
  Tuned tuned;
};

std::string second_best(const Tuned& tuned) {
  const Tuned::Candidate* second = nullptr;
  for (const Tuned::Candidate& c : tuned.candidates)
    if (c.name != tuned.variant && (second == nullptr || c.seconds < second->seconds)) second = &c;
  return second ? fmt::format("{} {}", second->name, human_seconds(second->seconds)) : "-";
}

Sheet winners_sheet(const std::vector<Row>& rows, bool with_device) {
  const auto shown = [&](const char* title) { return std::string(with_device ? title : ""); };
  Sheet sheet("winners", {{.key = "problem", .title = "problem"},
                          {.key = "kernel", .title = "kernel", .left = true, .priority = 1},
                          {.key = "variant", .title = "winner", .left = true},
                          {.key = "s", .title = "time", .unit = "s", .format = Column::Format::seconds},
                          {.key = "candidates", .title = "candidates", .priority = 2},
                          {.key = "second", .title = "second", .left = true, .priority = 3},
                          {.key = "device", .title = shown("device"), .left = true, .priority = 4},
                          {.key = "libraries", .title = shown("libraries"), .left = true, .priority = 5}});
  for (const auto& [key, tuned] : rows)
    sheet.row({key.problem, key.kernel, tuned.variant, tuned.seconds,
               static_cast<std::int64_t>(tuned.candidates.size()), second_best(tuned), key.device,
               key.libraries});
  return sheet;
}

Json rows_json(const std::vector<Row>& rows) {
  Json list = Json::array();
  for (const auto& [key, tuned] : rows) {
    Json candidates = Json::object();
    for (const Tuned::Candidate& c : tuned.candidates) candidates[c.name] = c.seconds * 1e6;
    list.push_back({{"problem", key.problem},
                    {"kernel", key.kernel},
                    {"device", key.device},
                    {"libraries", key.libraries},
                    {"variant", tuned.variant},
                    {"us", tuned.seconds * 1e6},
                    {"candidates_us", candidates}});
  }
  return list;
}

std::vector<Row> table_rows() {
  std::vector<Row> rows;
  for (auto& [key, tuned] : tuning_table().entries()) rows.push_back({key, tuned});
  return rows;
}

void list_table(const TuneRequest& r) {
  const TuningTable& table = tuning_table();
  const std::vector<Row> rows = table_rows();
  if (r.common.json) return print_json({{"file", table.file().string()}, {"winners", rows_json(rows)}});
  if (r.csv) return print(winners_sheet(rows, true).csv());
  if (!rows.empty()) print(winners_sheet(rows, true).text(r.common.tables.view()));
  print(fmt::format("{}{} in {}; the file may be deleted at any time\n", rows.empty() ? "" : "\n",
                    counted(static_cast<std::int64_t>(rows.size()), "winner"), table.file().string()));
}

// Plans a model in both modes, or in the requested one; times what the table lacks.
std::vector<Row> tune_model(const TuneRequest& r, Device& device, std::int64_t batch, const Net& net) {
  EngineOptions options = r.common.engine_options();
  options.update = usual_update(train_defaults(r.model));
  Engine engine(net, device, options);
  std::map<TuningKey, Tuned> found;
  for (const Mode mode : {Mode::train, Mode::eval}) {
    if (!r.mode.empty() && r.mode != name_of(mode)) continue;
    const Plan& plan = engine.ready(net.imported && mode == Mode::eval ? Mode::infer : mode, batch).plan();
    for (const Step& step : plan.steps) {
      if (step.kernel == nullptr || !step.kernel->candidates) continue;
      const TuningKey key = tuning_key(step.problem, *step.kernel, engine.target());
      if (const auto tuned = tuning_table().find(key)) found[key] = *tuned;
    }
  }
  std::vector<Row> rows;
  for (auto& [key, tuned] : found) rows.push_back({key, tuned});
  return rows;
}

struct TunedModel {
  std::string model, device;
  std::int64_t batch = 0;
  std::size_t timed = 0;  // now; the others were in the table
};

void print_tuned(const TuneRequest& r, const TunedModel& tuned, const std::vector<Row>& rows) {
  const auto& [model, device, batch, timed] = tuned;
  if (r.common.json)
    return print_json({{"model", model},
                       {"device", device},
                       {"batch", batch},
                       {"timed", timed},
                       {"file", tuning_table().file().string()},
                       {"winners", rows_json(rows)}});
  if (r.csv) return print(winners_sheet(rows, true).csv());
  if (rows.empty())
    return print(fmt::format("{} on {}: no kernel of its plan has candidates\n", model, device));
  print(fmt::format("{}, batch {}, {}, {}:\n\n", model, batch, r.common.precision, device));
  print(winners_sheet(rows, false).text(r.common.tables.view()));
  print(fmt::format("\n{}, {} timed now; winners are kept in {}\n",
                    counted(static_cast<std::int64_t>(rows.size()), "problem"), timed,
                    tuning_table().file().string()));
}

void run(const TuneRequest& request) {
  TuneRequest r = request;
  if (r.common.json && r.csv) reject(Hint{"give only one of the two"}, "--json and --csv exclude each other");
  require_files(r.files);
  if (r.list) {
    if (!r.model.empty())
      reject(Hint{"leave out the model, or --list"}, "--list prints the whole table; it does not take '{}'",
             r.model);
    list_table(r);
    return write_tables(r.files, "tune", {winners_sheet(table_rows(), true)});
  }
  if (r.model.empty())
    reject(Hint{"headroom tune resnet:depth=50 --device cuda, or headroom tune --list"},
           "no model was named");
  if (!r.mode.empty() && r.mode != "train" && r.mode != "eval")
    reject(nearest(r.mode, std::vector<std::string>{"train", "eval"}), "unknown mode '{}'", r.mode);
  if (r.batch < 0) reject("--batch is {}; it must be at least 1", r.batch);
  if (r.common.deterministic)
    reject(Hint{"leave out --deterministic"},
           "with --deterministic nothing is chosen by timing: there is nothing to tune");
  const Net net = find_net(with_dims(r.model, r.dims));
  const std::int64_t fixed = fixed_batch(net);
  const std::int64_t batch = fixed > 0 ? fixed : r.batch > 0 ? r.batch : train_defaults(r.model).batch;
  const auto device = r.common.open();
  const std::size_t before = tuning_table().entries().size();
  const std::vector<Row> rows = tune_model(r, *device, batch, net);
  const std::size_t added = tuning_table().entries().size() - before;
  print_tuned(r, {net.name, device->capabilities().name, batch, added}, rows);
  write_tables(r.files, "tune", {winners_sheet(rows, true)});
}

}  // namespace

void add_tune(Command app) {
  auto r = std::make_shared<TuneRequest>();
  Command verb =
      app.verb("tune", "time the candidates of the kernels that a model would use; keep the winners");
  verb.option("model", r->model, "zoo name with options, a net.json or an ONNX file");
  verb.option("--batch", r->batch, "images per step; 0: the model's default");
  verb.option("--mode", r->mode, "train or eval; both by default");
  verb.flag("--csv", r->csv, "print the table as comma-separated values");
  verb.flag("--list", r->list, "print the table of winners and its path");
  add_dim_option(verb, r->dims);
  add_run_options(verb, r->common, Explains::no);
  add_record_options(verb, r->files);
  verb.example("headroom tune resnet:depth=50 --device cuda --precision bf16 --batch 128");
  verb.example("headroom tune --list");
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli
