// The verb calibrate: fits the constants of kernel times to this machine, or to a table of measured times.
#include "base/file.h"
#include "base/json.h"
#include "base/sheet.h"
#include "base/text.h"
#include "cli/calibrate_device.h"
#include "cli/options.h"
#include "cli/predict_table.h"
#include "cli/record_files.h"
#include "cli/verbs.h"
#include "timing/table_calibration.h"
#include "timing/timing_rows.h"

namespace headroom::cli {
namespace {

constexpr std::size_t kMaxShownOutliers = 5;
constexpr const char* kCalibrateNote =
    "Mean, median and p90 are of |predicted / measured - 1| on what the column 'judged on' names; no fit saw "
    "those rows. Inside: measurements within the 90 % interval. Width: (high - low) / predicted.";

struct CalibrateRequest {
  std::string table, machine, out, leave_out, refit;
  bool shared = false;
  std::int64_t rows = 0;
  std::uint64_t seed = 0;
  double seconds = kCalibrateSeconds;
  std::string precisions;
  Common common;
  RecordFiles files;
};

// Without a table, the timings are made here.
bool measures(const CalibrateRequest& r) {
  if (!r.table.empty()) return false;
  if (r.machine.empty() && !r.shared && r.leave_out.empty() && r.rows == 0) return true;
  reject(Hint{"headroom calibrate --table rows.csv --machine h200 -o mine.json; without these options it "
              "measures this machine"},
         "--table is missing");
}

// True: from the timings of an earlier calibration; nothing else is asked for then.
bool refits(const CalibrateRequest& r) {
  if (r.refit.empty()) return false;
  if (!r.table.empty() || !r.machine.empty() || !r.out.empty())
    reject(Hint{"headroom calibrate --refit FILE writes to FILE"},
           "--refit excludes --table, --machine and --output");
  return true;
}

void require_request(const CalibrateRequest& r) {
  if (r.shared == !r.machine.empty())
    reject(Hint{"--machine fits one device; --shared fits what all devices of the table share"},
           "give either --machine or --shared");
  if (!r.leave_out.empty() && !r.shared)
    reject(Hint{"add --shared, or leave it out"}, "--leave-out is for --shared");
  if (r.rows != 0 && r.shared)
    reject(Hint{"--leave-out judges on one device"}, "--rows is for the rows of one --machine");
  if (r.rows < 0) reject("--rows is {}; it must be at least 0", r.rows);
  for (const auto& [given, option] : {std::pair(r.seconds != kCalibrateSeconds, "--seconds"),
                                      {r.common.threads != 0, "--threads"},
                                      {r.common.device != "cpu", "--device"}})
    if (given) reject(Hint{"leave it out"}, "{} is for timings made here; --table has its own", option);
  r.common.tables.view();  // a width that cannot be is said before anything is written
  if (!r.out.empty()) require_writable(r.out);
  require_files(r.files, {{"--table", r.table}, {"--output", r.out}});
}

TableCalibration fit_table(const CalibrateRequest& r) {
  const TimingTable table = read_timing_table(r.table);
  const KernelForm& form = form_of(table);
  require_precision_has_meaning(form, r.precisions);
  const Holdout holdout{static_cast<std::size_t>(r.rows), r.seed, r.leave_out};
  TableCalibration result = r.shared ? calibrate_table_shared(table, holdout, r.precisions)
                                     : calibrate_table(table, r.machine, holdout, r.precisions);
  if (std::string text = assumed_group(table, form, r.precisions); !text.empty())
    result.notes.push_back(std::move(text));
  return result;
}

Sheet fitted_sheet(const TableCalibration& result) {
  const auto percent = [](const char* key, const char* title) {
    return Column{.key = key, .title = title, .unit = "%", .format = Column::Format::tenths};
  };
  Sheet sheet("calibrated", {{.key = "group", .title = "type"},
                             {.key = "rows", .title = "rows fitted", .format = Column::Format::commas},
                             {.key = "judged_on", .title = "judged on", .left = true},
                             percent("mean_percent", "mean %"),
                             percent("median_percent", "median %"),
                             percent("p90_percent", "p90 %"),
                             percent("coverage_percent", "inside %"),
                             percent("median_width_percent", "width %"),
                             {.key = "outliers", .title = "outliers", .dash_zero = true}});
  for (const CalibratedPart& p : result.parts)
    sheet.row({p.group, static_cast<std::int64_t>(p.fitted), p.judged_on, p.errors.mean, p.errors.median,
               p.errors.p90, p.errors.coverage, p.errors.median_width,
               static_cast<std::int64_t>(p.outliers.size())});
  return sheet;
}

std::string outlier_lines(const std::vector<CalibratedPart>& parts) {
  std::string text;
  for (const CalibratedPart& part : parts) {
    for (std::size_t i = 0; i < std::min(part.outliers.size(), kMaxShownOutliers); ++i) {
      const Outlier& o = part.outliers[i];
      text += fmt::format("outlier, line {}: {:.4g} us measured, {:.4g} us predicted\n", o.line,
                          o.measured_us, o.predicted_us);
    }
    if (part.outliers.size() > kMaxShownOutliers)
      text +=
          fmt::format("and {} more outliers of {}\n", part.outliers.size() - kMaxShownOutliers, part.group);
  }
  return text;
}

Json parts_json(const TableCalibration& result) {
  Json list = fitted_sheet(result).objects();
  for (std::size_t i = 0; i < result.parts.size(); ++i) {
    Json outliers = Json::array();
    for (const Outlier& o : result.parts[i].outliers)
      outliers.push_back(
          {{"line", o.line}, {"measured_us", o.measured_us}, {"predicted_us", o.predicted_us}});
    list[i]["outliers"] = outliers;
  }
  return list;
}

void print_fitted(const CalibrateRequest& r, const TableCalibration& result) {
  if (r.common.json) {
    Json json = {{"kernel", result.calibration.forms.front().form}, {"table", r.table}};
    json["machine"] = result.calibration.machine ? Json(result.calibration.machine->name) : Json(nullptr);
    json["parts"] = parts_json(result), json["notes"] = result.notes;
    json["file"] = r.out.empty() ? Json(nullptr) : Json(r.out);
    return print_json(json);
  }
  print(fmt::format("{}, {}:\n\n", result.calibration.forms.front().form,
                    r.shared ? "shared by several devices" : result.calibration.machine->name));
  print(fitted_sheet(result).text(r.common.tables.view()));
  print("\n" + outlier_lines(result.parts) + paragraph(kCalibrateNote, r.common.tables.view()));
  if (!r.out.empty()) print(fmt::format("saved to {}\n", r.out));
}

void run(const CalibrateRequest& r) {
  if (refits(r)) return run_refit(r.refit, r.common);
  if (measures(r)) return run_calibrate_device(r.common, {r.precisions, r.seconds, r.out, r.files});
  require_request(r);
  const TableCalibration result = fit_table(r);
  for (const std::string& text : result.notes) warn(text);
  const std::string file = to_json(result.calibration).dump(1) + "\n";
  if (!r.out.empty()) write_file(r.out, file);
  print_fitted(r, result);
  write_tables(r.files, "calibrate", {fitted_sheet(result)});
}

}  // namespace

void add_calibrate(Command app) {
  auto r = std::make_shared<CalibrateRequest>();
  Command verb = app.verb("calibrate", "fit kernel times to this machine, or to a table of measured ones");
  verb.option("--table", r->table, "CSV of timings, plain or gzipped: device,dtype,m,n,k,us and others");
  verb.option("--machine", r->machine, "fit the rows of this machine");
  verb.flag("--shared", r->shared, "fit what all devices of the table share, for devices never measured");
  verb.option("-o,--output", r->out,
              "the file to write, for predict --machine or --constants; without --table also the constants "
              "alone, as time-models/ holds them for machines never measured");
  verb.option("--rows", r->rows,
              "fit only this many rows, chosen at random, and judge on the others; 0: all");
  verb.option("--leave-out", r->leave_out, "with --shared: leave out this device and judge on it");
  verb.option("--seed", r->seed, "seed of the choice of --rows");
  verb.option("--seconds", r->seconds, "without --table: time for random networks on this machine");
  verb.option("--refit", r->refit,
              "fit the timings of this calibration again, a file of calibrations/ in the cache folder");
  verb.option("--device", r->common.device, "without --table: cpu, cuda, or cuda:1 for the second GPU");
  verb.option(
      "--precision", r->precisions,
      "without --table: some of fp32, fp64, on GPUs also tf32, bf16, fp16, with commas between them; "
      "else fp32, on GPUs fp32,tf32,bf16. With --table: the type of all rows, where no column says it");
  verb.option("--threads", r->common.threads, "CPU threads; 0: one per core");
  add_json(verb, r->common);
  add_record_options(verb, r->files);
  add_table_options(verb, r->common.tables);
  verb.example("headroom calibrate");
  verb.example("headroom calibrate --table rows.csv --machine h200 -o mine.json");
  verb.example("headroom calibrate --table rows.csv --shared --leave-out l40s");
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli
