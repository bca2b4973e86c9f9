#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "timing/step_fit.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStepKey = "step_times";
constexpr int kStepVersion = 5;
constexpr const char* kCalibrateAgain = "`headroom calibrate` makes a new one";
constexpr std::size_t kStepPlaces = 18;  // of a correction

Json step_kind_json(const StepCalibration::Kind& k) {
  Json json = {{"efficiency", rounded(k.constants.efficiency)},
               {"half_m", rounded(k.constants.half_m)},
               {"half_n", rounded(k.constants.half_n)},
               {"half_k", rounded(k.constants.half_k)},
               {"memory_share", rounded(k.constants.memory_share)},
               {"cache_share", rounded(k.constants.cache_share)},
               {"start_us", rounded(k.constants.start_s * 1e6)},
               {"chain_ns", rounded(k.constants.chain_s * 1e9)},
               {"stage_ns", rounded(k.constants.stage_s * 1e9)},
               {"rows", k.rows},
               {"spread", rounded(k.spread)},
               {"unseen_error", to_json(k.errors)}};
  if (!k.correction.empty()) json["correction"] = k.correction.to_json();
  return json;
}

JudgedErrors step_errors_from(const Json& json) {
  return {.rows = json.value("rows", std::size_t{0}),
          .mean = json.value("mean_percent", 0.0),
          .median = json.value("median_percent", 0.0),
          .p90 = json.value("p90_percent", 0.0),
          .coverage = json.value("coverage_percent", 0.0),
          .median_width = json.value("median_width_percent", 0.0)};
}

double above_zero(const Json& json, const char* key, const std::string& origin) {
  const auto it = json.find(key);
  if (it == json.end() || !it->is_number() || !(it->get<double>() > 0))
    reject("{}: '{}' must be a number above 0", origin, key);
  return it->get<double>();
}

StepCalibration::Kind step_kind_from(const Json& json, const std::string& origin) {
  StepCalibration::Kind kind;
  kind.constants = {above_zero(json, "efficiency", origin),      above_zero(json, "half_m", origin),
                    above_zero(json, "half_n", origin),          above_zero(json, "half_k", origin),
                    above_zero(json, "memory_share", origin),    above_zero(json, "cache_share", origin),
                    above_zero(json, "start_us", origin) * 1e-6, above_zero(json, "chain_ns", origin) * 1e-9,
                    above_zero(json, "stage_ns", origin) * 1e-9};
  kind.rows = json.value("rows", std::size_t{0});
  kind.spread = above_zero(json, "spread", origin);
  if (json.contains("unseen_error")) kind.errors = step_errors_from(json.at("unseen_error"));
  if (json.contains("correction"))
    kind.correction = Ridge::from_json(json.at("correction"), origin, kStepPlaces);
  return kind;
}

Json run_json(const RunRow& run) {
  Json json = Json::array({run.run, rounded(run.seconds * 1e6)});
  if (run.alone > 0) json.push_back(rounded(run.alone * 1e6));
  return json;
}
RunRow run_from(const Json& json) {
  return {json.at(0).get<int>(), json.at(1).get<double>() * 1e-6,
          json.size() > 2 ? json.at(2).get<double>() * 1e-6 : 0};
}

Json step_row_json(const StepRow& r) {
  const StepAmounts& a = r.amounts;
  return Json::array({r.run,
                      a.kind,
                      a.family,
                      a.flops,
                      a.peak,
                      a.bytes,
                      a.rate,
                      a.m,
                      a.n,
                      a.k,
                      a.launches,
                      rounded(r.seconds * 1e6),
                      r.stream,
                      r.waits,
                      a.geometry.row_in,
                      a.geometry.row_out,
                      a.geometry.taps,
                      a.geometry.stride,
                      a.far_rate,
                      a.chain,
                      a.staged,
                      a.geometry.inner,
                      a.geometry.channels_last});
}

StepRow step_row_from(const Json& j) {
  StepRow row;
  row.run = j.at(0).get<int>();
  StepAmounts& a = row.amounts;
  a.kind = j.at(1).get<std::string>(), a.family = j.at(2).get<std::string>();
  double* const numbers[] = {&a.flops, &a.peak, &a.bytes,    &a.rate,     &a.m,
                             &a.n,     &a.k,    &a.launches, &row.seconds};
  for (std::size_t i = 0; i < std::size(numbers); ++i) *numbers[i] = j.at(3 + i).get<double>();
  row.seconds *= 1e-6;
  row.stream = j.at(12).get<int>(), row.waits = j.at(13).get<std::vector<int>>();
  double* const geometry[] = {&a.geometry.row_in, &a.geometry.row_out, &a.geometry.taps, &a.geometry.stride};
  for (std::size_t i = 0; i < std::size(geometry); ++i) *geometry[i] = j.at(14 + i).get<double>();
  double* const more[] = {&a.far_rate, &a.chain, &a.staged, &a.geometry.inner, &a.geometry.channels_last};
  for (std::size_t i = 0; i < std::size(more); ++i) *more[i] = j.at(18 + i).get<double>();
  return row;
}

}  // namespace

Json to_json(const StepCalibration& c) {
  Json kinds = Json::object(), rows = Json::array(), runs = Json::array();
  for (const auto& [name, kind] : c.kinds) kinds[name.empty() ? "all" : name] = step_kind_json(kind);
  for (const StepRow& row : c.rows) rows.push_back(step_row_json(row));
  for (const RunRow& run : c.runs) runs.push_back(run_json(run));
  return {
      {kStepKey, kStepVersion},
      {"about",
       "constants of kernel times, fitted to the rows below; rows are run, kind, family, FLOP, peak FLOP/s, "
       "bytes, bytes/s, m, n, k, launches, us, stream, rows it waits for, lengths of rows in and out, taps, "
       "stride, bytes/s of the largest memory where the bytes fit a cache, terms in a chain, values staged "
       "for "
       "it, values in a row of memory, 1 where those are channels; runs are their number, us, and us where "
       "the host waits for each"},
      {"machine", c.machine},
      {"title", c.title},
      {"cores", c.cores},
      {"libraries", c.libraries},
      {"run",
       {{"whole", rounded(c.run.whole)},
        {"gap_us", rounded(c.run.gap_s * 1e6)},
        {"start_us", rounded(c.run.start_s * 1e6)},
        {"wait_us", rounded(c.run.wait_s * 1e6)}}},
      {"run_intervals", c.run_intervals.to_json()},
      {"growth", rounded(c.growth)},
      {"unseen_steps", to_json(c.step_errors)},
      {"unseen_runs", to_json(c.run_errors)},
      {"intervals", c.intervals.to_json()},
      {"kinds", kinds},
      {"runs", runs},
      {"rows", rows}};
}

Json shared_constants(const StepCalibration& c, const Machine& machine) {
  // On another machine errors are wider than on the one of the fit: twice, by assumption.
  const auto twice = [&](const Intervals::Bucket& bucket) {
    const double doubt = 2 * c.kinds.at("").spread;
    return Json::array({rounded(std::min(1.0, std::pow(bucket.low, doubt))),
                        rounded(std::max(1.0, std::pow(bucket.high, doubt)))});
  };
  Json kinds = Json::object();
  for (const auto& [name, kind] : c.kinds) {
    const StepConstants& k = kind.constants;
    Json json = {{"efficiency", rounded(k.efficiency)},
                 {"half_m", rounded(k.half_m)},
                 {"half_n", rounded(k.half_n)},
                 {"half_k", rounded(k.half_k)},
                 {"memory_share", rounded(k.memory_share)},
                 {"cache_share", rounded(k.cache_share)}};
    if (machine.kind != "cpu")
      json["chain_ns"] = rounded(k.chain_s * 1e9), json["stage_ns"] = rounded(k.stage_s * 1e9);
    if (machine.launch.host_s > 0) json["starts"] = rounded(k.start_s / machine.launch.host_s);
    if (!name.empty() && !name.ends_with('*')) kinds[name] = json;
    if (name.empty() && !c.kinds.contains("plain")) kinds["plain"] = json;
  }
  return {
      {"name", machine.kind},
      {"basis", name_of(TimeModel::Basis::shared)},
      {"interval", twice(c.intervals.at(1e-3))},
      {"run_interval", twice(c.run_intervals.at(1e-3))},
      {"about",
       fmt::format(
           "fitted to {} timings of {} runs of random networks on {} ({} cores). "
           "efficiency: share of the peak of the unit that the kernel uses; "
           "half_m, half_n, half_k: rows, columns, terms of a product at which half of that "
           "is left; "
           "memory_share, cache_share: share of the rate of memory, of caches; starts: times the machine's "
           "cost of a launch; chain_ns: of a term of a GPU's block; stage_ns: of a value it brings in",
           c.rows.size(), c.runs.size(), c.title, c.cores)},
      {"kinds", kinds}};
}

StepCalibration step_calibration_from_json(const Json& json, const std::string& origin) {
  if (json.value(kStepKey, 0) != kStepVersion)
    reject(Hint{"calibrate again"}, "{}: not a calibration of step times of this version", origin);
  try {
    StepCalibration c;
    c.machine = json.at("machine").get<std::string>(), c.title = json.at("title").get<std::string>();
    c.cores = json.at("cores").get<int>(), c.libraries = json.at("libraries").get<std::string>();
    const Json& whole = json.at("run");
    c.run = {above_zero(whole, "whole", origin), above_zero(whole, "gap_us", origin) * 1e-6,
             above_zero(whole, "start_us", origin) * 1e-6, whole.value("wait_us", 0.0) * 1e-6};
    c.run_intervals = Intervals::from_json(json.at("run_intervals"), origin);
    c.growth = json.at("growth").get<double>();
    c.step_errors = step_errors_from(json.at("unseen_steps")),
    c.run_errors = step_errors_from(json.at("unseen_runs"));
    c.intervals = Intervals::from_json(json.at("intervals"), origin);
    for (const auto& [name, kind] : json.at("kinds").items())
      c.kinds[name == "all" ? "" : name] = step_kind_from(kind, fmt::format("{}: kind '{}'", origin, name));
    if (!c.kinds.contains("")) reject("{}: kind 'all' is missing", origin);
    for (const Json& row : json.at("rows")) c.rows.push_back(step_row_from(row));
    for (const StepRow& row : c.rows)
      for (const std::string& name : {any_precision(row.amounts.kind), row.amounts.kind})
        if (const auto it = c.kinds.find(name); it != c.kinds.end()) {
          it->second.places.add(place_of_step(row.amounts));
          break;
        }
    for (const Json& run : json.at("runs")) c.runs.push_back(run_from(run));
    return c;
  } catch (const Json::exception& error) {
    reject("{}: {}", origin, error.what());
  }
}

fs::path calibration_file(std::string_view machine) {
  return cache_dir() / "calibrations" / (std::string(machine) + ".json");
}

void save_calibration(const StepCalibration& c) {
  const fs::path path = calibration_file(c.machine);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) reject("cannot create {}: {}", path.parent_path().string(), error.message());
  write_file(path, to_json(c).dump(1) + "\n");
}

std::optional<StepCalibration> find_calibration(const Machine& machine, std::string& why) {
  const fs::path path = calibration_file(machine.name);
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  try {
    StepCalibration c =
        step_calibration_from_json(parse_object(read_file(path), path.string()), path.string());
    if (c.title == machine.title && c.cores == machine.cores) return c;
    why = fmt::format("{} is not used: it is of another machine, {}, {} cores; {}", path.string(), c.title,
                      c.cores, kCalibrateAgain);
  } catch (const Error& damaged) {
    why = fmt::format("a calibration is not used: {}; {}", damaged.what(), kCalibrateAgain);
  }
  return {};
}

}  // namespace headroom
