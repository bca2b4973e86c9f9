#include "cli/predict_rows.h"

#include <algorithm>

#include "base/in_parallel.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/run_setup.h"
#include "models/layers.h"
#include "report/record.h"
#include "train/settings.h"

namespace headroom::cli {
namespace {

// The machines of the request. With "all", a file that cannot be read is a line of the table.
std::vector<Machine> machines_of(const PredictRequest& r, std::vector<PredictRow>& unreadable) {
  std::vector<Machine> machines;
  if (!every_machine(r)) {
    for (const std::string& name : named_machines(r))
      machines.push_back(machine_named(name, r.common.threads, warn));
    return machines;
  }
  const std::vector<std::string> names = machine_names();
  std::vector<Outlook> failed(names.size());
  std::vector<std::optional<Machine>> found(names.size());
  in_parallel(names.size(), [&](std::size_t i) {
    try {
      found[i] = with_threads(find_machine(names[i]), r.common.threads);
    } catch (const Error& error) {
      failed[i].why_not = error;
    }
  });
  for (std::size_t i = 0; i < names.size(); ++i)
    if (found[i])
      machines.push_back(std::move(*found[i]));
    else
      unreadable.push_back({names[i], 0, failed[i]});
  return machines;
}

// Machines that can compute in the precision; with "all", the others are lines of the table.
std::vector<Machine> able_machines(const PredictRequest& r, std::vector<PredictRow>& others) {
  const Precision precision = parse_precision(r.common.precision);
  std::vector<Machine> able;
  for (Machine& machine : machines_of(r, others)) {
    try {
      require_machine_precision(machine, precision, r.common.precision);
      able.push_back(std::move(machine));
    } catch (const Error& error) {
      if (!every_machine(r)) throw;
      others.push_back({machine.name, 0, {std::nullopt, error}});
    }
  }
  return able;
}

// Why a row has no times; empty if it has.
std::string reason_of(const Outlook& outlook) {
  if (outlook.why_not) return with_options(outlook.why_not->what());
  const Forecast& f = *outlook.forecast;
  if (f.fits()) return {};
  return fmt::format("needs {} of {}", human_bytes(f.memory_needed), human_bytes(f.memory_there));
}

void finish_copies(const PredictRequest& r, std::vector<PredictRow>& rows) {
  if (!r.copies) return;
  for (PredictRow& row : rows)
    if (row.outlook.forecast) wait_for_copies(row.outlook.forecast->prediction);
}

}  // namespace

std::vector<std::string> named_machines(const PredictRequest& r) {
  std::vector<std::string> names = split(r.machines, ',');
  for (std::string& name : names) {
    const std::size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
    name = begin == std::string::npos ? std::string() : name.substr(begin, end - begin + 1);
  }
  return names;
}

std::vector<PredictRow> forecasts(const PredictRequest& r, const Net& net, Mode mode, std::int64_t batch) {
  std::vector<PredictRow> rows;
  const std::vector<Machine> machines = able_machines(r, rows);
  Common by_order = r.common;  // the kernel times of this machine play no part
  by_order.choose = "order";
  if (std::ranges::any_of(machines, [](const Machine& m) { return m.kind == "gpu"; }))
    by_order.device = "cuda";  // their options are allowed; no device is opened
  EngineOptions options = by_order.engine_options();
  options.update = usual_update(train_defaults(with_dims(r.model, r.dims)));
  const auto options_for = [&](const Machine& machine) {
    EngineOptions own = options;
    own.choose = r.common.chooser_for(machine);
    return own;
  };
  for (PredictRow& row : rows) row.batch = batch;
  if (r.copies)
    for (const Machine& m : machines)
      if (m.kind == "gpu" && m.host_link.bytes_per_s <= 0)
        warn(fmt::format("machine '{}' names no `host_link`: copies to it are not known, and not counted",
                         m.name));
  if (!every_machine(r)) {
    for (const Machine& m : machines)
      rows.push_back({m.name, batch, {forecast(net, m, options_for(m), mode, batch, r.common.threads), {}}});
    finish_copies(r, rows);
    return rows;
  }
  if (r.common.choose != "order")
    reject(Hint{"name the machines, or leave out --choose"}, "--choose predicted is not for --machine all");
  const bool plans = r.common.json || r.common.explain || r.common.tables.for_layers();
  std::vector<Outlook> outlooks = forecast_many(net, machines, options, mode, batch, r.common.threads, plans);
  for (std::size_t i = 0; i < machines.size(); ++i)
    rows.push_back({machines[i].name, batch, std::move(outlooks[i])});
  finish_copies(r, rows);
  if (std::ranges::none_of(rows, [](const PredictRow& row) { return row.outlook.forecast.has_value(); }))
    throw *rows.back().outlook.why_not;
  std::ranges::sort(rows, {}, &PredictRow::machine);
  return rows;
}

// Rates are of tokens for networks that read text.
Sheet summary_sheet(const std::vector<PredictRow>& rows, const Net& net) {
  const bool text = reads_tokens(net);
  const double each = text ? double(net.input.at(0)) : 1;
  const std::string unit = text ? "tokens" : "images";
  const bool reasons =
      std::ranges::any_of(rows, [](const PredictRow& r) { return !reason_of(r.outlook).empty(); });
  Sheet sheet("predictions",
              {{.key = "machine", .title = "machine"},
               {.key = "batch", .title = "batch"},
               {.key = "floor_ms", .title = "floor ms", .unit = "ms"},
               {.key = "predicted_ms", .title = "predicted ms", .unit = "ms"},
               {.key = "low_ms", .title = "low", .unit = "ms"},
               {.key = "high_ms", .title = "high", .unit = "ms"},
               {.key = "copies_ms", .title = "copies", .unit = "ms", .dash_zero = true, .priority = 4},
               {.key = "basis", .title = "basis", .left = true, .priority = 1},
               {.key = unit + "_per_s_at_floor",
                .title = unit + "/s at the floor",
                .format = Column::Format::commas,
                .priority = 3},
               {.key = unit + "_per_s_predicted",
                .title = unit + "/s predicted",
                .format = Column::Format::commas,
                .priority = 2},
               {.key = "memory_bytes", .title = "memory", .unit = "B", .format = Column::Format::bytes},
               {.key = "fits", .title = "fits", .left = true},
               {.key = "largest_batch", .title = ""},
               {.key = "why_not", .title = reasons ? "why not" : "", .left = true, .wrap = true}});
  for (const PredictRow& row : rows) {
    if (!row.outlook.forecast) {
      sheet.row({row.machine,
                 row.batch,
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 {},
                 std::string("-"),
                 {},
                 reason_of(row.outlook)});
      continue;
    }
    const Forecast& f = *row.outlook.forecast;
    const Prediction& p = f.prediction;
    const std::int64_t batch = f.batch;
    const bool fits = f.fits(), times = fits && p.has_times;
    sheet.row({p.machine, batch, fits && p.floor_s > 0 ? Cell(p.floor_s * 1e3) : Cell(),
               times ? Cell(p.predicted_s * 1e3) : Cell(), times ? Cell(p.low_s * 1e3) : Cell(),
               times ? Cell(p.high_s * 1e3) : Cell(), times ? Cell(p.copies_s * 1e3) : Cell(),
               times ? Cell(std::string(name_of(p.basis))) : Cell(),
               fits && p.floor_s > 0 ? Cell(each * double(batch) / p.floor_s) : Cell(),
               times && p.predicted_s > 0 ? Cell(each * double(batch) / p.predicted_s) : Cell(),
               f.memory_needed,
               std::string(f.memory_there <= 0 ? "unknown"
                           : fits              ? "yes"
                                               : "no"),
               f.largest_batch > 0 ? Cell(f.largest_batch) : Cell(),
               fits ? Cell(std::string()) : Cell(reason_of(row.outlook))});
  }
  return sheet;
}

Json row_json(const PredictRow& row, bool with_layers) {
  if (!row.outlook.forecast)
    return {{"batch", row.batch},
            {"machine", row.machine},
            {"predicted_ms", nullptr},
            {"why_not", reason_of(row.outlook)}};
  const Forecast& f = *row.outlook.forecast;
  Json item = {{"batch", f.batch}};
  item.update(prediction_json(f.built->plan, f.prediction));
  if (!with_layers) item.erase("layers"), item.erase("steps");
  item["memory_bytes"] = f.memory_needed;
  item["machine_memory_bytes"] = f.memory_there > 0 ? Json(f.memory_there) : Json(nullptr);
  item["fits"] = f.fits();
  if (!f.fits()) {  // no time is given for a step that cannot run
    if (with_layers) item["largest_batch"] = f.largest_batch;
    for (const char* time : {"floor_ms", "predicted_ms", "low_ms", "high_ms"}) item[time] = nullptr;
    for (const char* key : {"basis", "parts", "layers", "steps"}) item.erase(key);
    item["why_not"] = reason_of(row.outlook);
  }
  return item;
}

}  // namespace headroom::cli
