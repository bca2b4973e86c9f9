// Tables and JSON of a comparison.
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "report/diff.h"

namespace headroom {
namespace {

// The times of a row, behind the columns that name it. Intervals and numbers of samples are in CSV and JSON.
std::vector<Column> with_times(std::vector<Column> columns) {
  const std::vector<Column> times = {
      {.key = "before_ms", .title = "before ms", .unit = "ms"},
      {.key = "after_ms", .title = "after ms", .unit = "ms"},
      {.key = "difference_ms", .title = "difference ms", .unit = "ms", .priority = 1},
      {.key = "percent", .title = "%", .unit = "%", .format = Column::Format::tenths},
      {.key = "verdict", .title = "verdict", .left = true},
      {.key = "before_low_ms", .title = "", .unit = "ms"},
      {.key = "before_high_ms", .title = "", .unit = "ms"},
      {.key = "after_low_ms", .title = "", .unit = "ms"},
      {.key = "after_high_ms", .title = "", .unit = "ms"},
      {.key = "before_samples", .title = ""},
      {.key = "after_samples", .title = ""}};
  columns.insert(columns.end(), times.begin(), times.end());
  return columns;
}

std::vector<Cell> with_times(std::vector<Cell> cells, const DiffRow& row) {
  const auto ms = [](double seconds) { return known(seconds * 1e3); };
  const double before = row.before.spread.median, after = row.after.spread.median;
  const std::optional<double> percent = row.percent();
  const std::vector<Cell> times = {ms(before),
                                   ms(after),
                                   percent ? Cell((after - before) * 1e3) : Cell(),
                                   percent ? Cell(*percent) : Cell(),
                                   std::string(name_of(row.change)),
                                   ms(row.before.low),
                                   ms(row.before.high),
                                   ms(row.after.low),
                                   ms(row.after.high),
                                   row.before.spread.samples,
                                   row.after.spread.samples};
  cells.insert(cells.end(), times.begin(), times.end());
  return cells;
}

Sheet named_sheet(const std::string& name, const std::vector<DiffRow>& rows) {
  Sheet sheet(name + "s", with_times({{.key = name, .title = name}}));
  for (const DiffRow& row : rows) sheet.row(with_times({row.name}, row));
  return sheet;
}

std::string program_of(const RunRecord& record) {
  return record.commit.empty() ? record.program : fmt::format("{} {}", record.program, record.commit);
}

std::string device_of(const RunRecord& record) {
  if (record.plan) {
    const int threads = record.plan->threads;
    return threads > 1 ? fmt::format("{} ({} threads)", record.plan->device, threads) : record.plan->device;
  }
  return record.machine ? record.machine->title : "";
}

}  // namespace

std::string describe(const RunRecord& record) {
  std::vector<std::string> parts = {record.verb};
  if (record.model) parts.push_back(record.model->name);
  if (record.plan) parts.push_back(fmt::format("batch {}, {}", record.plan->batch, record.plan->precision));
  if (const std::string device = device_of(record); !device.empty()) parts.push_back(device);
  parts.push_back(fmt::format("headroom {}", program_of(record)));
  if (!record.time.empty()) parts.push_back(record.time);
  return fmt::format("{}", fmt::join(parts, ", "));
}

Sheet layer_diff_sheet(const RecordDiff& diff) {
  Sheet sheet = named_sheet("layer", diff.layers);
  for (const DiffRow& row : diff.phases) sheet.total(with_times({row.name}, row));
  if (diff.whole) sheet.total(with_times({diff.whole->name}, *diff.whole));
  return sheet;
}

Sheet step_diff_sheet(const std::vector<DiffRow>& steps) {
  Sheet sheet("steps", with_times({{.key = "layer", .title = "layer"},
                                   {.key = "op", .title = "operator", .left = true},
                                   {.key = "kernel", .title = "kernel", .left = true, .wrap = true}}));
  for (const DiffRow& row : steps) sheet.row(with_times({row.name, row.what, row.kernel}, row));
  return sheet;
}

Sheet table_diff_sheet(const std::vector<DiffRow>& cells) {
  Sheet sheet("cells",
              with_times({{.key = "row", .title = "row"}, {.key = "time", .title = "time", .left = true}}));
  for (const DiffRow& row : cells) sheet.row(with_times({row.name, row.what}, row));
  return sheet;
}

Json to_json(const RecordDiff& diff) {
  Json settings = Json::array();
  for (const DiffSetting& s : diff.settings)
    settings.push_back({{"setting", s.what}, {"before", s.before}, {"after", s.after}});
  Json json = {{"differing_settings", settings}};
  if (!diff.whole) {
    json["tables"] = table_diff_sheet(diff.cells).objects();
    return json;
  }
  json["whole"] = named_sheet("name", {*diff.whole}).objects().at(0);
  json["phases"] = named_sheet("phase", diff.phases).objects();
  json["layers"] = named_sheet("layer", diff.layers).objects();
  json["steps"] = step_diff_sheet(diff.steps).objects();
  return json;
}

Sheet runs_sheet(const std::vector<RecordedRun>& runs) {
  using enum Column::Format;
  Sheet sheet("runs", {{.key = "run", .title = "run"},
                       {.key = "model", .title = "network", .left = true},
                       {.key = "mode", .title = "mode", .left = true, .priority = 4},
                       {.key = "program", .title = "headroom", .left = true, .priority = 2},
                       {.key = "device", .title = "device", .left = true, .wrap = true, .priority = 1},
                       {.key = "batch", .title = "batch"},
                       {.key = "precision", .title = "precision", .left = true, .priority = 1},
                       {.key = "step_ms", .title = "step ms", .unit = "ms"},
                       {.key = "p10_ms", .title = "10 %", .unit = "ms", .priority = 3},
                       {.key = "p90_ms", .title = "90 %", .unit = "ms", .priority = 3},
                       {.key = "samples", .title = ""},
                       {.key = "items_per_s", .title = "items/s", .format = commas, .priority = 2},
                       {.key = "percent", .title = "%", .unit = "%", .format = tenths},
                       {.key = "verdict", .title = "against the first", .left = true}});
  MedianInterval first;
  for (const RecordedRun& run : runs) {
    const RunRecord& r = run.record;
    const MedianInterval step = median_interval(whole_samples(r));
    if (step.spread.samples == 0)
      reject(Hint{"records of benchmarks can be compared two at a time"}, "{} has no time of a whole step",
             run.name);
    const bool is_first = &run == &runs.front();
    if (is_first) first = step;
    const DiffRow row{.name = run.name, .before = first, .after = step};
    const std::int64_t batch = r.plan ? r.plan->batch : 0;
    sheet.row({run.name, r.model ? Cell(r.model->name) : Cell(), r.plan ? Cell(r.plan->mode) : Cell(),
               program_of(r), device_of(r), batch > 0 ? Cell(batch) : Cell(),
               r.plan ? Cell(r.plan->precision) : Cell(), step.spread.median * 1e3, step.spread.p10 * 1e3,
               step.spread.p90 * 1e3, step.spread.samples, known(double(batch) / step.spread.median),
               is_first ? Cell() : Cell(row.percent().value_or(0)),
               is_first ? Cell() : Cell(std::string(name_of(judge(first, step))))});
  }
  return sheet;
}

}  // namespace headroom
