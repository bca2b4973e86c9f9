// What a calibration of steps says of runs that its fit did not see, and the intervals that follow from it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "base/error.h"
#include "timing/minimize.h"
#include "timing/step_fit.h"

namespace headroom {
namespace {

constexpr int kStepFolds = 5;
constexpr double kLargestShare = 0.25;  // of the runs: left out together, to see how far small ones reach
constexpr double kMaxGrowth = 3;
constexpr std::size_t kMinFarRows = 20;

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
  std::vector<double> predicted, novelty;
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
  return {std::vector<double>(c.rows.size()), std::vector<double>(c.rows.size())};
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

// Predictions beside measurements, of steps or of runs.
struct Judged {
  std::vector<double> predicted, measured, novelty;
  void add(double p, double m, double n) {
    if (p > 0) predicted.push_back(p), measured.push_back(m), novelty.push_back(n);
  }
  double residual(std::size_t i) const { return std::log(measured[i] / predicted[i]); }
};

// How the width grows with the novelty: errors of the newer half beside those of the other.
double growth_of(const Judged& near, const Judged& far) {
  std::vector<std::pair<double, double>> rows;  // novelty, error
  for (const Judged* part : {&near, &far})
    for (std::size_t i = 0; i < part->predicted.size(); ++i)
      rows.emplace_back(part->novelty[i], std::abs(part->residual(i)));
  if (far.predicted.size() < kMinFarRows) return 0;
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

Intervals intervals_of(const Judged& rows, double growth) {
  std::vector<double> residuals;
  for (std::size_t i = 0; i < rows.predicted.size(); ++i)
    residuals.push_back(rows.residual(i) / (1 + growth * rows.novelty[i]));
  return Intervals::from_residuals(rows.predicted, residuals);
}

JudgedErrors errors_of(const Judged& rows, const Intervals& intervals, double growth) {
  std::vector<JudgedRow> list;
  for (std::size_t i = 0; i < rows.predicted.size(); ++i) {
    const Intervals::Bucket& bucket = intervals.at(rows.predicted[i]);
    const double p = rows.predicted[i], wider = 1 + growth * rows.novelty[i];
    list.push_back({rows.measured[i], p, p * std::pow(bucket.low, wider), p * std::pow(bucket.high, wider)});
  }
  return judge(list);
}

template <class Wanted>
Judged judged_steps(const StepCalibration& c, const UnseenSteps& unseen, const Wanted& wanted) {
  Judged judged;
  for (std::size_t r = 0; r < c.rows.size(); ++r)
    if (wanted(c.rows[r].amounts)) judged.add(unseen.predicted[r], c.rows[r].seconds, unseen.novelty[r]);
  return judged;
}

void judge_steps(StepCalibration& c, const UnseenSteps& folds, const UnseenSteps& largest) {
  const auto all = [](const StepAmounts&) { return true; };
  const Judged near = judged_steps(c, folds, all);
  c.growth = growth_of(near, judged_steps(c, largest, all));
  c.intervals = intervals_of(near, c.growth);
  c.step_errors = errors_of(near, c.intervals, c.growth);
  for (auto& [name, kind] : c.kinds) {
    const auto is_of = [&](const StepAmounts& a) {
      return name.empty() || name == a.kind || name == any_precision(a.kind) || name == a.family;
    };
    kind.errors = errors_of(judged_steps(c, folds, is_of), c.intervals, c.growth);
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
    const std::span newness(unseen.novelty.data() + run.first, run.rows.size());
    const double sum = std::accumulate(steps.begin(), steps.end(), 0.0);
    if (sum <= 0) continue;
    judged.add(run_seconds(run.rows, steps, run.busy, c.run), run.seconds,
               std::inner_product(steps.begin(), steps.end(), newness.begin(), 0.0) / sum);
  }
  return judged;
}

// A whole run is predicted from its steps; what is left over is an error that all of them share.
void judge_runs(StepCalibration& c, const UnseenSteps& folds, const UnseenSteps& largest) {
  const std::vector<ProbeRun> runs = runs_of(c);
  if (runs.empty()) return;
  c.run = fit_run_constants(runs);
  c.run.wait_s = wait_of(c.runs);
  const Judged near = judged_runs(c, runs, folds);
  if (near.predicted.empty()) return;
  c.run_growth = growth_of(near, judged_runs(c, runs, largest));
  c.run_intervals = intervals_of(near, c.run_growth);
  c.run_errors = errors_of(near, c.run_intervals, c.run_growth);
}

}  // namespace

void judge_calibration(StepCalibration& c) {
  if (count_runs(c.rows) < 2)
    reject(Hint{"give it more time: `seconds`"}, "timings of one run alone cannot be judged by another");
  const UnseenSteps folds = predict_folds(c), largest = predict_largest(c);
  judge_steps(c, folds, largest);
  judge_runs(c, folds, largest);
}

}  // namespace headroom
