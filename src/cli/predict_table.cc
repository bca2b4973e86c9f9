#include "cli/predict_table.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/sheet.h"
#include "base/text.h"
#include "cli/record_files.h"
#include "timing/table_prediction.h"
#include "timing/timing_rows.h"

namespace headroom::cli {
namespace {

constexpr const char* kTableNote =
    "Mean, median and p90 are of |predicted / measured - 1|. Inside: measurements within low to high, which "
    "is meant to hold 90 %. Basis: calibrated with rows of this device, or shared by other devices.";

std::string number_text(double value) { return fmt::format("{:.6g}", value); }

constexpr const char* kExplained[] = {"choice", "blocks", "waves", "bound"};

// Columns of the user's are kept; those of an earlier prediction are made anew.
void require_free_columns(const TimingTable& table) {
  if (table.find("predicted_us")) return;
  for (const char* name : kExplained)
    if (table.find(name))
      reject(Hint{"rename it, or leave --explain out"},
             "{} has a column '{}', and --explain adds one of that name", table.origin, name);
}

std::vector<AddedColumn> columns_of(const TablePrediction& prediction, bool explain) {
  std::vector<AddedColumn> added = {{"predicted_us", {}}, {"low_us", {}}, {"high_us", {}}};
  if (explain)
    for (const char* name : kExplained) added.push_back({name, {}});
  for (const PredictedTime& t : prediction.times) {
    added[0].cells.push_back(number_text(t.us));
    added[1].cells.push_back(number_text(t.low_us));
    added[2].cells.push_back(number_text(t.high_us));
    if (!explain) continue;
    added[3].cells.push_back(t.explanation.choice);
    added[4].cells.push_back(number_text(t.explanation.blocks));
    added[5].cells.push_back(number_text(t.explanation.waves));
    added[6].cells.push_back(t.explanation.bound);
  }
  return added;
}

Sheet parts_sheet(const std::vector<PredictedPart>& parts) {
  const auto percent = [](const char* key, const char* title) {
    return Column{.key = key, .title = title, .unit = "%", .format = Column::Format::tenths};
  };
  Sheet sheet("predicted", {{.key = "device", .title = "device"},
                            {.key = "group", .title = "type", .left = true},
                            {.key = "basis", .title = "basis", .left = true},
                            {.key = "rows", .title = "rows", .format = Column::Format::commas},
                            percent("mean_percent", "mean %"),
                            percent("median_percent", "median %"),
                            percent("p90_percent", "p90 %"),
                            percent("coverage_percent", "inside %"),
                            percent("median_width_percent", "width %")});
  for (const PredictedPart& p : parts) {
    const JudgedErrors& e = p.errors;
    const auto cell = [&](double value) { return e.rows > 0 ? Cell(value) : Cell(); };
    sheet.row({p.device, p.group, p.basis, static_cast<std::int64_t>(p.rows), cell(e.mean), cell(e.median),
               cell(e.p90), cell(e.coverage), cell(e.median_width)});
  }
  return sheet;
}

}  // namespace

void require_precision_has_meaning(const KernelForm& form, const std::string& precision) {
  if (precision.empty() || form.group_column() == "dtype") return;
  reject(Hint{"leave --precision out"}, "the formula for {} has no precision; --precision is '{}'",
         form.name(), precision);
}

std::string assumed_group(const TimingTable& table, const KernelForm& form, const std::string& precision) {
  const std::string column = form.group_column();
  if (form.groups().size() < 2 || !precision.empty() || table.find(column)) return {};
  return fmt::format("{}: column '{}' absent: {} assumed; {} says otherwise", table.origin, column,
                     form.groups().front(), column == "dtype" ? "--precision" : "such a column");
}

void run_predict_table(const PredictTableRequest& r, const Common& common) {
  const KernelForm& form = find_form(r.form);
  if (r.table.empty())
    reject(Hint{fmt::format("headroom predict {} --table rows.csv --machine h200", r.form)},
           "'{}' is a kernel, not a network: --table names the file with its sizes", r.form);
  common.tables.view();  // a width that cannot be is said before anything is written
  if (!r.out.empty()) require_writable(r.out);
  for (const auto& [option, name] : {std::pair("--machine", &r.machine), {"--constants", &r.constants}})
    if (std::error_code ignored; std::filesystem::exists(*name, ignored))
      require_distinct({{option, *name}, {"--output", r.out}});
  const TimingTable table = read_timing_table(r.table);
  if (common.explain) require_free_columns(table);
  require_precision_has_meaning(form, r.precision);
  TablePrediction prediction =
      predict_table(table, form, {.machine = r.machine, .constants = r.constants, .precision = r.precision});
  if (std::string text = assumed_group(table, form, r.precision); !text.empty())
    prediction.notes.push_back(std::move(text));
  for (const std::string& text : prediction.notes) warn(text);
  const std::string csv = to_csv(table, columns_of(prediction, common.explain));
  if (!r.out.empty()) write_file(r.out, csv);
  const Sheet sheet = parts_sheet(prediction.parts);
  if (common.json) {
    Json json = {
        {"kernel", r.form}, {"table", r.table}, {"parts", sheet.objects()}, {"notes", prediction.notes}};
    if (!r.out.empty()) return print_json((json["file"] = r.out, json));
    for (const PredictedTime& t : prediction.times)
      json["rows"].push_back({{"predicted_us", t.us}, {"low_us", t.low_us}, {"high_us", t.high_us}});
    return print_json(json);
  }
  const std::string text =
      sheet.text(common.tables.view()) + "\n" + paragraph(kTableNote, common.tables.view());
  if (r.out.empty()) return print(csv), note(text);
  print(text);
  print(
      fmt::format("{} written to {}\n", counted(static_cast<std::int64_t>(table.rows.size()), "row"), r.out));
}

}  // namespace headroom::cli
