// Constants of steps from the probes' rows: for every kind with enough rows, for every family, and for all.
#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include "base/error.h"
#include "timing/minimize.h"
#include "timing/step_model.h"

namespace headroom {
namespace {

constexpr std::size_t kMinKindRows = 5, kMinCorrectedRows = 10;
constexpr std::size_t kMaxCorrectedRows = 500;  // the work grows with the third power
constexpr int kStepFolds = 5;
constexpr double kMaxCorrection = 1;  // of the logarithm
constexpr double kStepPull = 1e-3;

using StepRows = std::vector<const StepRow*>;

// What measurements count for. There are far more short ones than long ones, and they would have a fit to
// themselves: those of one length, within a factor of eight, count as the root of their number.
std::vector<double> weights_of(const std::vector<double>& seconds) {
  const auto length = [](double s) { return static_cast<int>(std::floor(std::log2(s) / 3)); };
  std::map<int, double> counts;
  for (const double s : seconds) counts[length(s)] += 1;
  std::vector<double> weights;
  for (const double s : seconds) weights.push_back(1 / std::sqrt(counts.at(length(s))));
  return weights;
}
std::vector<double> weights_of(const StepRows& rows) {
  std::vector<double> seconds;
  for (const StepRow* row : rows) seconds.push_back(row->seconds);
  return weights_of(seconds);
}

StepConstants constants_at(std::span<const double> x) {
  return {std::exp(x[0]), std::exp(x[1]), std::exp(x[2]), std::exp(x[3]),
          std::exp(x[4]), std::exp(x[5]), std::exp(x[6])};
}

// A step that launches nothing takes next to nothing, but not 0.
double seconds_by(const StepAmounts& amounts, const StepConstants& constants) {
  return std::max(1e-9, parts_of(amounts, constants).seconds());
}

// The least mean |log(predicted / measured)|, with a weak pull to the start: a constant that the rows do not
// tell apart stays there.
StepConstants fit_step_constants(const StepRows& rows, const StepConstants& start) {
  const std::vector<double> from = {std::log(start.efficiency),   std::log(start.half_m),
                                    std::log(start.half_n),       std::log(start.half_k),
                                    std::log(start.memory_share), std::log(start.cache_share),
                                    std::log(start.start_s)};
  const std::vector<double> low = {std::log(1e-4), std::log(0.1),  std::log(0.1), std::log(0.1),
                                   std::log(0.01), std::log(0.01), std::log(1e-8)},
                            high = {0,
                                    std::log(500.0),
                                    std::log(500.0),
                                    std::log(500.0),
                                    std::log(4.0),
                                    std::log(4.0),
                                    std::log(1e-3)};
  const std::vector<double> weights = weights_of(rows);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto objective = [&](std::span<const double> x) {
    const StepConstants constants = constants_at(x);
    double sum = 0, pull = 0;
    for (std::size_t r = 0; r < rows.size(); ++r)
      sum += weights[r] * std::abs(std::log(seconds_by(rows[r]->amounts, constants) / rows[r]->seconds));
    for (std::size_t i = 0; i < x.size(); ++i) pull += (x[i] - from[i]) * (x[i] - from[i]);
    return sum / all + kStepPull * pull;
  };
  std::vector<double> best = minimize(objective, from, low, high, {.step = 0.5, .evaluations = 700});
  best = minimize(objective, best, low, high, {.step = 0.2, .evaluations = 400});
  return constants_at(best);
}

std::vector<double> place_of_step(const StepAmounts& a) {
  std::vector<double> place;
  const StepAmounts::Geometry& g = a.geometry;
  for (const double x : {a.flops, a.bytes, a.m, a.n, a.k}) place.push_back(0.5 * std::log2(1 + x));
  for (const double x : {g.row_in, g.row_out}) place.push_back(0.5 * std::log2(x));
  for (const double x : {g.taps, g.stride}) place.push_back(std::log2(x));
  return place;
}

Ridge fit_correction(const StepRows& rows, const StepConstants& constants) {
  if (rows.size() < kMinCorrectedRows) return {};
  FeatureRows places;
  std::vector<double> targets;
  // Rows of every length, if there are too many for all.
  const std::vector<double> weights = weights_of(rows);
  const double step = std::accumulate(weights.begin(), weights.end(), 0.0) / kMaxCorrectedRows;
  double passed = 0, next = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    passed += weights[r];
    if (rows.size() > kMaxCorrectedRows && passed < next) continue;
    next += step;
    const StepRow* row = rows[r];
    places.add(place_of_step(row->amounts));
    const double residual = std::log(row->seconds / seconds_by(row->amounts, constants));
    targets.push_back(std::clamp(residual, -kMaxCorrection, kMaxCorrection));
  }
  return Ridge::fit(places, targets);
}

// Kinds, families and all rows, from the largest group to the smallest: each starts from what it belongs to.
std::map<std::string, StepCalibration::Kind> fit_kinds(const StepRows& rows) {
  std::map<std::string, StepCalibration::Kind> kinds;
  const auto add = [&](const std::string& name, const StepRows& group, const StepConstants& start) {
    StepCalibration::Kind& kind = kinds[name];
    kind.constants = fit_step_constants(group, start);
    if (name.find(' ') != std::string::npos) kind.correction = fit_correction(group, kind.constants);
    kind.rows = group.size();
  };
  add("", rows, {});
  std::map<std::string, StepRows> families, of_kind;
  for (const StepRow* row : rows)
    families[row->amounts.family].push_back(row), of_kind[row->amounts.kind].push_back(row);
  for (const auto& [name, group] : families)
    if (group.size() >= kMinKindRows) add(name, group, kinds.at("").constants);
  for (const auto& [name, group] : of_kind) {
    if (group.size() < kMinKindRows) continue;
    const auto family = kinds.find(group.front()->amounts.family);
    add(name, group, family != kinds.end() ? family->second.constants : kinds.at("").constants);
  }
  return kinds;
}

// What a fit says of runs that it did not see.
struct UnseenSteps {
  std::vector<double> predicted;  // by row
};
UnseenSteps predict_unseen(const std::vector<StepRow>& rows) {
  UnseenSteps unseen{std::vector<double>(rows.size())};
  for (int fold = 0; fold < kStepFolds; ++fold) {
    StepRows seen;
    for (const StepRow& row : rows)
      if (row.run % kStepFolds != fold) seen.push_back(&row);
    if (seen.empty()) continue;
    StepCalibration part;
    part.kinds = fit_kinds(seen);
    for (std::size_t r = 0; r < rows.size(); ++r)
      if (rows[r].run % kStepFolds == fold) unseen.predicted[r] = part.seconds_of(rows[r].amounts);
  }
  return unseen;
}

JudgedErrors judge_all(const std::vector<double>& predicted, const std::vector<double>& measured,
                       const Intervals& intervals) {
  std::vector<JudgedRow> rows;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const Intervals::Bucket& bucket = intervals.at(predicted[i]);
    rows.push_back({measured[i], predicted[i], predicted[i] * bucket.low, predicted[i] * bucket.high});
  }
  return judge(rows);
}

std::vector<double> log_ratios(const std::vector<double>& predicted, const std::vector<double>& measured) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < predicted.size(); ++i)
    residuals.push_back(std::log(measured[i] / predicted[i]));
  return residuals;
}

void judge_steps(StepCalibration& c, const UnseenSteps& unseen) {
  std::vector<double> measured;
  for (const StepRow& row : c.rows) measured.push_back(row.seconds);
  c.intervals = Intervals::from_residuals(unseen.predicted, log_ratios(unseen.predicted, measured));
  c.step_errors = judge_all(unseen.predicted, measured, c.intervals);
  for (auto& [name, kind] : c.kinds) {
    std::vector<double> p, m;
    for (std::size_t r = 0; r < c.rows.size(); ++r)
      if (name.empty() || name == c.rows[r].amounts.kind || name == c.rows[r].amounts.family)
        p.push_back(unseen.predicted[r]), m.push_back(measured[r]);
    kind.errors = judge_all(p, m, c.intervals);
  }
}

// Rows of one run, and what the device is busy with of each.
struct ProbeRun {
  std::span<const StepRow> rows;
  std::size_t first = 0;
  std::vector<double> busy;
  double seconds = 0;
};

std::vector<ProbeRun> runs_of(const StepCalibration& c) {
  std::vector<ProbeRun> runs;
  for (const RunRow& run : c.runs) {
    const auto is_of = [&](const StepRow& row) { return row.run == run.run; };
    const auto begin = std::ranges::find_if(c.rows, is_of);
    const auto end = std::find_if_not(begin, c.rows.end(), is_of);
    ProbeRun part{
        .rows = {begin, end}, .first = static_cast<std::size_t>(begin - c.rows.begin()), .busy = {}};
    for (const StepRow& row : part.rows) part.busy.push_back(c.busy_share(row.amounts));
    part.seconds = run.seconds;
    if (!part.rows.empty()) runs.push_back(std::move(part));
  }
  return runs;
}

// From measured steps, so that errors of the step model have no part in it.
RunConstants fit_run_constants(const std::vector<ProbeRun>& runs) {
  std::vector<std::vector<double>> seconds;
  for (const ProbeRun& run : runs) {
    seconds.emplace_back();
    for (const StepRow& row : run.rows) seconds.back().push_back(row.seconds);
  }
  const auto constants = [](std::span<const double> x) {
    return RunConstants{std::exp(x[0]), std::exp(x[1]), std::exp(x[2])};
  };
  std::vector<double> lengths;
  for (const ProbeRun& run : runs) lengths.push_back(run.seconds);
  const std::vector<double> weights = weights_of(lengths);
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  const auto objective = [&](std::span<const double> x) {
    double sum = 0;
    for (std::size_t r = 0; r < runs.size(); ++r)
      sum +=
          weights[r] * std::abs(std::log(run_seconds(runs[r].rows, seconds[r], runs[r].busy, constants(x)) /
                                         runs[r].seconds));
    return sum / all;
  };
  const std::vector<double> from = {0, std::log(1e-7), std::log(1e-6)},
                            low = {std::log(0.25), std::log(1e-10), std::log(1e-10)},
                            high = {std::log(4.0), std::log(1e-4), std::log(1e-3)};
  const std::vector<double> best = minimize(objective, from, low, high, {.step = 0.5, .evaluations = 400});
  return constants(minimize(objective, best, low, high, {.step = 0.1, .evaluations = 200}));
}

// A whole run is predicted from its steps; what is left over is an error that all of them share.
void judge_runs(StepCalibration& c, const UnseenSteps& unseen) {
  const std::vector<ProbeRun> runs = runs_of(c);
  if (runs.empty()) return;
  c.run = fit_run_constants(runs);
  std::vector<double> p, m;
  for (const ProbeRun& run : runs) {
    const std::span<const double> steps(unseen.predicted.data() + run.first, run.rows.size());
    p.push_back(run_seconds(run.rows, steps, run.busy, c.run)), m.push_back(run.seconds);
  }
  const Intervals intervals = Intervals::from_residuals(p, log_ratios(p, m));
  c.run_errors = judge_all(p, m, intervals);
  c.run_factors = {1, 1};
  for (const Intervals::Bucket& bucket : intervals.buckets()) {
    c.run_factors.low = std::min(c.run_factors.low, bucket.low);
    c.run_factors.high = std::max(c.run_factors.high, bucket.high);
  }
}

}  // namespace

double StepCalibration::seconds_of(const StepAmounts& amounts) const {
  const Kind& kind = kind_of(amounts);
  const double formula = seconds_by(amounts, kind.constants);
  return kind.correction.empty() ? formula
                                 : formula * std::exp(kind.correction.predict(place_of_step(amounts)));
}

StepCalibration fit_steps(std::vector<StepRow> rows, std::vector<RunRow> runs) {
  if (rows.size() < kMinStepRows)
    reject(Hint{"give it more time: `seconds`"}, "{} timings are too few for a calibration; it needs {}",
           rows.size(), kMinStepRows);
  StepCalibration c;
  c.rows = std::move(rows), c.runs = std::move(runs);
  StepRows all;
  for (const StepRow& row : c.rows) all.push_back(&row);
  c.kinds = fit_kinds(all);
  const UnseenSteps unseen = predict_unseen(c.rows);
  judge_steps(c, unseen);
  judge_runs(c, unseen);
  return c;
}

}  // namespace headroom
