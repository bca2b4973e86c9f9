// What a calibration of steps says of runs that its fit did not see, and the intervals that follow from it.
#include <algorithm>
#include <cmath>
#include <set>

#include "base/error.h"
#include "predict/predict.h"
#include "timing/minimize.h"
#include "timing/step_fit.h"

namespace headroom {
namespace {

constexpr int kStepFolds = 5;
constexpr double kLargestShare = 0.25;  // of the runs: left out together, to see how far small ones reach
constexpr double kMaxGrowth = 3;
constexpr std::size_t kMinFarRows = 20;
constexpr double kMaxError = 2, kMinSpread = 0.005;  // of the logarithm
constexpr double kSpreadPull = 5;                    // rows that a group counts as

// Both runs of a probe, training and evaluation, are left out together: they have steps in common. A few
// runs are left out one by one.
int fold_of(int run, std::size_t runs) { return (runs < 2 * kStepFolds ? run : run / 2) % kStepFolds; }

std::size_t count_runs(const std::vector<StepRow>& rows) {
  std::set<int> runs;
  for (const StepRow& row : rows) runs.insert(row.run);
  return runs.size();
}

// By row, from fits that did not see its run. Rows that none judged have 0 seconds.
struct UnseenSteps {
  std::vector<double> predicted, novelty, doubt;
};

template <class LeftOut>
void predict_left_out(const std::vector<StepRow>& rows, const LeftOut& left_out, UnseenSteps& unseen) {
  StepRows seen;
  for (const StepRow& row : rows)
    if (!left_out(row)) seen.push_back(&row);
  if (seen.empty() || seen.size() == rows.size()) return;
  StepCalibration part;
  part.kinds = fit_kinds(seen);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!left_out(rows[r])) continue;
    unseen.predicted[r] = part.seconds_of(rows[r].amounts);
    unseen.novelty[r] = part.novelty_of(rows[r].amounts);
  }
}

UnseenSteps empty_of(const StepCalibration& c) {
  return {std::vector<double>(c.rows.size()), std::vector<double>(c.rows.size()),
          std::vector<double>(c.rows.size())};
}

// Runs like those that were seen.
UnseenSteps predict_folds(const StepCalibration& c) {
  UnseenSteps unseen = empty_of(c);
  const std::size_t runs = count_runs(c.rows);
  for (int fold = 0; fold < kStepFolds; ++fold)
    predict_left_out(
        c.rows, [&](const StepRow& row) { return fold_of(row.run, runs) == fold; }, unseen);
  return unseen;
}

// Runs longer than all that were seen: what a network of people is to the probes.
UnseenSteps predict_largest(const StepCalibration& c) {
  UnseenSteps unseen = empty_of(c);
  if (c.runs.empty()) return unseen;
  std::vector<double> lengths;
  for (const RunRow& run : c.runs) lengths.push_back(run.seconds);
  std::ranges::sort(lengths);
  const double limit =
      lengths[static_cast<std::size_t>((1 - kLargestShare) * static_cast<double>(lengths.size() - 1))];
  std::map<int, bool> large;
  for (const RunRow& run : c.runs) large[run.run] = run.seconds > limit;
  predict_left_out(
      c.rows, [&](const StepRow& row) { return large[row.run]; }, unseen);
  return unseen;
}

// The kind of a row and the groups it belongs to, from the largest.
std::vector<std::string> groups_of(const StepAmounts& a) {
  return {"", a.family, any_precision(a.kind), a.kind};
}

// Mean errors of kinds and groups on rows that fits did not see. The few rows of a kind are pulled to what is
// known of its group.
template <class Wanted>
std::map<std::string, double> spreads_of(const StepCalibration& c, const UnseenSteps& unseen,
                                         const Wanted& wanted) {
  std::map<std::string, std::pair<double, double>> sums;  // errors, rows
  std::map<std::string, double> spreads;
  for (std::size_t r = 0; r < c.rows.size(); ++r) {
    if (unseen.predicted[r] <= 0 || !wanted(c.rows[r])) continue;
    const double error = std::abs(std::log(c.rows[r].seconds / unseen.predicted[r]));
    for (const std::string& name : groups_of(c.rows[r].amounts)) {
      auto& [sum, count] = sums[name];
      sum += std::min(kMaxError, error), count += 1;
    }
  }
  const auto& [all, rows] = sums[""];
  spreads[""] = std::max(kMinSpread, rows > 0 ? all / rows : 0);
  for (const StepRow& row : c.rows) {
    double group = spreads.at("");
    for (const std::string& name : groups_of(row.amounts)) {
      const auto& [sum, count] = sums[name];
      const auto [it, is_new] = spreads.try_emplace(name, 0);
      if (is_new) it->second = std::max(kMinSpread, (sum + kSpreadPull * group) / (count + kSpreadPull));
      group = it->second;
    }
  }
  return spreads;
}

// Predictions beside measurements, of steps or of runs.
struct Judged {
  std::vector<double> predicted, measured, doubt;
  void add(double p, double m, double d) {
    if (p > 0) predicted.push_back(p), measured.push_back(m), doubt.push_back(d);
  }
  double residual(std::size_t i) const { return std::log(measured[i] / predicted[i]); }
};

// How errors grow with the novelty of a step, beside those usual for its kind: the newer half and the other.
double growth_of(const StepCalibration& c, const UnseenSteps& near, const UnseenSteps& far) {
  std::vector<std::pair<double, double>> rows;  // novelty, error
  std::size_t far_rows = 0;
  for (const UnseenSteps* part : {&near, &far})
    for (std::size_t r = 0; r < c.rows.size(); ++r) {
      if (part->predicted[r] <= 0) continue;
      far_rows += part == &far;
      const double error = std::abs(std::log(c.rows[r].seconds / part->predicted[r]));
      rows.emplace_back(part->novelty[r],
                        std::min(kMaxError, error) / c.kinds.at(c.rows[r].amounts.kind).spread);
    }
  if (far_rows < kMinFarRows) return 0;
  std::ranges::sort(rows);
  const auto mean = [&](std::size_t begin, std::size_t end) {
    std::pair<double, double> sum{0, 0};
    for (std::size_t i = begin; i < end; ++i) sum.first += rows[i].first, sum.second += rows[i].second;
    const auto n = static_cast<double>(end - begin);
    return std::pair{sum.first / n, sum.second / n};
  };
  const auto [d1, e1] = mean(0, rows.size() / 2);
  const auto [d2, e2] = mean(rows.size() / 2, rows.size());
  const double divisor = e1 * d2 - e2 * d1;  // e = s (1 + g d) at both
  if (e2 <= e1) return 0;
  return divisor <= 0 ? kMaxGrowth : std::min(kMaxGrowth, (e2 - e1) / divisor);
}

Intervals intervals_of(const Judged& rows) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < rows.predicted.size(); ++i)
    residuals.push_back(rows.residual(i) / rows.doubt[i]);
  return Intervals::from_residuals(rows.predicted, residuals);
}

JudgedErrors errors_of(const Judged& rows, const Intervals& intervals) {
  std::vector<JudgedRow> list;
  for (std::size_t i = 0; i < rows.predicted.size(); ++i) {
    const Intervals::Bucket& bucket = intervals.at(rows.predicted[i]);
    const double p = rows.predicted[i], doubt = rows.doubt[i];
    list.push_back({rows.measured[i], p, p * std::pow(bucket.low, doubt), p * std::pow(bucket.high, doubt)});
  }
  return judge(list);
}

template <class Wanted>
Judged judged_steps(const StepCalibration& c, const UnseenSteps& unseen, const Wanted& wanted) {
  Judged judged;
  for (std::size_t r = 0; r < c.rows.size(); ++r)
    if (wanted(c.rows[r].amounts)) judged.add(unseen.predicted[r], c.rows[r].seconds, unseen.doubt[r]);
  return judged;
}

// The doubt of a row follows from the other folds: its own error must not widen its interval.
void doubt_steps(StepCalibration& c, UnseenSteps& folds, const UnseenSteps& largest) {
  const std::map<std::string, double> all = spreads_of(c, folds, [](const StepRow&) { return true; });
  for (auto& [name, kind] : c.kinds) kind.spread = all.at(name);
  c.growth = growth_of(c, folds, largest);
  const std::size_t runs = count_runs(c.rows);
  for (int fold = 0; fold < kStepFolds; ++fold) {
    const std::map<std::string, double> spreads =
        spreads_of(c, folds, [&](const StepRow& row) { return fold_of(row.run, runs) != fold; });
    for (std::size_t r = 0; r < c.rows.size(); ++r)
      if (fold_of(c.rows[r].run, runs) == fold)
        folds.doubt[r] = spreads.at(c.rows[r].amounts.kind) * (1 + c.growth * folds.novelty[r]);
  }
}

void judge_steps(StepCalibration& c, const UnseenSteps& folds) {
  const Judged near = judged_steps(c, folds, [](const StepAmounts&) { return true; });
  c.intervals = intervals_of(near);
  c.step_errors = errors_of(near, c.intervals);
  for (auto& [name, kind] : c.kinds) {
    const auto is_of = [&](const StepAmounts& a) {
      const std::vector<std::string> groups = groups_of(a);
      return std::ranges::find(groups, name) != groups.end();
    };
    kind.errors = errors_of(judged_steps(c, folds, is_of), c.intervals);
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
  const auto objective = [&](std::span<const double> x) {
    double sum = 0;
    for (std::size_t r = 0; r < runs.size(); ++r)
      sum += std::abs(
          std::log(run_seconds(runs[r].rows, seconds[r], runs[r].busy, constants(x)) / runs[r].seconds));
    return sum / static_cast<double>(runs.size());
  };
  const std::vector<double> from = {0, std::log(1e-7), std::log(1e-6)},
                            low = {std::log(0.25), std::log(1e-10), std::log(1e-10)},
                            high = {std::log(4.0), std::log(1e-4), std::log(1e-3)};
  const std::vector<double> best = minimize(objective, from, low, high, {.step = 0.5, .evaluations = 400});
  return constants(minimize(objective, best, low, high, {.step = 0.1, .evaluations = 200}));
}

// What the host adds that waits for each run instead of queueing the next: the median of runs timed both
// ways.
double wait_of(const std::vector<RunRow>& runs) {
  std::vector<double> waits;
  for (const RunRow& run : runs)
    if (run.alone > 0) waits.push_back(std::max(0.0, run.alone - run.seconds));
  if (waits.empty()) return 0;
  const auto middle = waits.begin() + std::ssize(waits) / 2;
  std::nth_element(waits.begin(), middle, waits.end());
  return *middle;
}

Judged judged_runs(const StepCalibration& c, const std::vector<ProbeRun>& runs, const UnseenSteps& unseen) {
  Judged judged;
  for (const ProbeRun& run : runs) {
    const std::span steps(unseen.predicted.data() + run.first, run.rows.size());
    const std::span doubts(unseen.doubt.data() + run.first, run.rows.size());
    if (std::ranges::all_of(steps, [](double s) { return s > 0; }))
      judged.add(run_seconds(run.rows, steps, run.busy, c.run), run.seconds, doubt_of_run(steps, doubts));
  }
  return judged;
}

// A whole run is predicted from its steps; what is left over is an error that all of them share.
void judge_runs(StepCalibration& c, const UnseenSteps& folds) {
  const std::vector<ProbeRun> runs = runs_of(c);
  if (runs.empty()) return;
  c.run = fit_run_constants(runs);
  c.run.wait_s = wait_of(c.runs);
  const Judged near = judged_runs(c, runs, folds);
  if (near.predicted.empty()) return;
  c.run_intervals = intervals_of(near);
  c.run_errors = errors_of(near, c.run_intervals);
}

}  // namespace

void judge_calibration(StepCalibration& c) {
  if (count_runs(c.rows) < 2)
    reject(Hint{"give it more time: `seconds`"}, "timings of one run alone cannot be judged by another");
  UnseenSteps folds = predict_folds(c);
  doubt_steps(c, folds, predict_largest(c));
  judge_steps(c, folds);
  judge_runs(c, folds);
}

}  // namespace headroom
