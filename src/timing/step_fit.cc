// Constants of steps from the probes' rows: for every kind, for kernels in any precision, for families, for
// all. What they leave over, kernels in all precisions learn from each other.
#include "timing/step_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "timing/minimize.h"
#include "timing/trees.h"

namespace headroom {
namespace {

constexpr std::size_t kMinFamilyRows = 5, kMinCorrectedRows = 10;
constexpr std::size_t kMaxCorrectedRows = 500;  // the work grows with the third power
constexpr double kMaxCorrection = 1;            // of the logarithm
constexpr double kUsualChance = 0.3;            // in what is left over, beside what neighbours have in common
constexpr double kCorrectionReach = 3;          // units of place that count as one for it
// Of all rows of a group together: ten rows that a constant e times as large explains 10 % better move it.
constexpr double kStepPull = 1;
constexpr double kLongestHalf = 128;  // the edge of a large tile: it cannot be filled by less
constexpr double kUnknownNovelty = 8;

// A step that launches nothing takes next to nothing, but not 0.
double seconds_by(const StepAmounts& amounts, const StepConstants& constants) {
  return std::max(1e-9, parts_of(amounts, constants).seconds());
}

std::vector<double> logarithms_of(const StepConstants& c) {
  return {std::log(c.efficiency), std::log(c.half_m),       std::log(c.half_n),
          std::log(c.half_k),     std::log(c.memory_share), std::log(c.cache_share),
          std::log(c.start_s),    std::log(c.chain_s),      std::log(c.stage_s)};
}
StepConstants constants_at(std::span<const double> x) {
  return {std::exp(x[0]), std::exp(x[1]), std::exp(x[2]), std::exp(x[3]), std::exp(x[4]),
          std::exp(x[5]), std::exp(x[6]), std::exp(x[7]), std::exp(x[8])};
}

// The least mean |log(predicted / measured)|, with a pull to the constants of the group that these rows
// belong to. Few rows, or rows of one size, do not tell nine constants apart: what they leave open stays as
// it is there. Else the time of a large step would follow from the noise of small ones.
StepConstants fit_step_constants(const StepRows& rows, const StepConstants& group) {
  const StepConstants least{1e-4, 0.1, 0.1, 0.1, 0.01, 0.01, 1e-8, 1e-13, 1e-15},
      largest{1, kLongestHalf, kLongestHalf, kLongestHalf, 4, 4, 1e-3, 1e-5, 1e-6};
  const std::vector<double> from = logarithms_of(group), low = logarithms_of(least),
                            high = logarithms_of(largest);
  const auto n = static_cast<double>(rows.size());
  // Where no step has a chain, the last two would only be in the way.
  const bool chains = std::ranges::any_of(rows, [](const StepRow* row) { return row->amounts.chain > 0; });
  const auto fitted = static_cast<std::ptrdiff_t>(from.size()) - (chains ? 0 : 2);
  const auto completed = [&](std::span<const double> x) {
    std::vector<double> all(x.begin(), x.end());
    all.insert(all.end(), from.begin() + fitted, from.end());
    return constants_at(all);
  };
  const auto objective = [&](std::span<const double> x) {
    const StepConstants constants = completed(x);
    double sum = 0;
    for (const StepRow* row : rows)
      sum += std::abs(std::log(seconds_by(row->amounts, constants) / row->seconds));
    for (std::size_t i = 0; i < x.size(); ++i) sum += kStepPull * (x[i] - from[i]) * (x[i] - from[i]);
    return sum / n;
  };
  std::vector<double> best = minimize(objective, {from.begin(), from.begin() + fitted}, low, high,
                                      {.step = 0.5, .evaluations = 900});
  best = minimize(objective, best, low, high, {.step = 0.2, .evaluations = 400});
  return completed(best);
}

std::vector<double> correction_place(const StepAmounts& amounts) {
  std::vector<double> place = place_of_step(amounts);
  for (double& x : place) x /= kCorrectionReach;
  return place;
}

// What is left over at one place. Both modes of a probe have the same steps: they come twice.
struct LeftOver {
  std::vector<double> place;
  int probe = 0;
  double sum = 0, count = 0;
};

// What the formula of each row's kind leaves over. Too many places are thinned out evenly.
std::vector<LeftOver> left_over(const StepRows& rows,
                                const std::map<std::string, StepCalibration::Kind>& kinds) {
  std::vector<LeftOver> list, thinned;
  std::map<std::vector<double>, std::size_t> known;
  for (const StepRow* row : rows) {
    const std::vector<double> place = correction_place(row->amounts);
    const auto [it, is_new] = known.try_emplace(place, list.size());
    if (is_new) list.push_back({.place = place, .probe = row->run / 2});
    const StepConstants& constants = kinds.at(row->amounts.kind).constants;
    list[it->second].sum += std::clamp(std::log(row->seconds / seconds_by(row->amounts, constants)),
                                       -kMaxCorrection, kMaxCorrection);
    list[it->second].count += 1;
  }
  const std::size_t count = std::min(list.size(), kMaxCorrectedRows);
  for (std::size_t i = 0; i < count; ++i) thinned.push_back(list[i * list.size() / count]);
  return thinned;
}

template <class Wanted>
Ridge correction_of(const std::vector<LeftOver>& list, double chance, const Wanted& wanted) {
  FeatureRows places;
  std::vector<double> targets;
  for (const LeftOver& at : list)
    if (wanted(at)) places.add(at.place), targets.push_back(at.sum / at.count);
  return targets.empty() ? Ridge() : Ridge::fit(places, targets, chance);
}

// How much of it is chance: as much as lets each half of the probes predict the other best.
double chance_of(const std::vector<LeftOver>& list) {
  double best = kUsualChance, least = std::numeric_limits<double>::infinity();
  for (const double chance : {kUsualChance, 0.1, 0.03}) {
    double error = 0;
    for (const int half : {0, 1}) {
      const Ridge ridge =
          correction_of(list, chance, [&](const LeftOver& at) { return at.probe % 2 == half; });
      if (ridge.empty()) return kUsualChance;
      for (const LeftOver& at : list)
        if (at.probe % 2 != half) error += std::abs(at.sum / at.count - ridge.predict(at.place));
    }
    if (error < least) least = error, best = chance;
  }
  return best;
}

Ridge fit_correction(const StepRows& rows, const std::map<std::string, StepCalibration::Kind>& kinds) {
  if (rows.size() < kMinCorrectedRows) return {};
  const std::vector<LeftOver> list = left_over(rows, kinds);
  return correction_of(list, chance_of(list), [](const LeftOver&) { return true; });
}

// Values that follow each other are moved several at a time where their number is a multiple of that; so are
// the edges of tiles filled.
double alignment(double x) {
  constexpr std::int64_t kWidest = 64;
  const auto whole = static_cast<std::int64_t>(x);
  return whole <= 0 ? 1 : double(std::min(kWidest, whole & -whole));
}

}  // namespace

std::vector<double> place_of_step(const StepAmounts& a) {
  std::vector<double> place;
  const StepAmounts::Geometry& g = a.geometry;
  for (const double x : {a.flops, a.bytes, a.m, a.n, a.k}) place.push_back(0.5 * std::log2(1 + x));
  for (const double x : {g.row_in, g.row_out}) place.push_back(0.5 * std::log2(x));
  for (const double x : {g.taps, g.stride}) place.push_back(std::log2(x));
  for (const double x : {a.m, a.n, a.k, g.inner, g.row_out}) place.push_back(0.5 * std::log2(alignment(x)));
  // Other code, as a rule: other layouts, other launches, other precisions.
  place.push_back(2 * g.channels_last), place.push_back(2 * std::log2(std::max(1.0, a.launches)));
  for (const std::string_view precision : {kTf32Kind, k16bitKind})
    place.push_back(a.kind.ends_with(precision) ? 2.8 : 0);
  return place;
}

// From the largest group to the smallest: each starts from what it belongs to.
std::map<std::string, StepCalibration::Kind> fit_kinds(const StepRows& rows) {
  std::map<std::string, StepCalibration::Kind> kinds;
  const auto add = [&](const std::string& name, const StepRows& group, const StepConstants& start) {
    StepCalibration::Kind& kind = kinds[name];
    kind.constants = fit_step_constants(group, start);
    kind.rows = group.size();
  };
  const auto wider = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (const auto it = kinds.find(name); it != kinds.end()) return it->second.constants;
    return kinds.at("").constants;
  };
  add("", rows, {.chain_s = 1e-9, .stage_s = 1e-10});
  std::map<std::string, StepRows> families, any, of_kind;
  for (const StepRow* row : rows) {
    families[row->amounts.family].push_back(row);
    any[any_precision(row->amounts.kind)].push_back(row);
    of_kind[row->amounts.kind].push_back(row);
  }
  for (const auto& [name, group] : families)
    if (group.size() >= kMinFamilyRows) add(name, group, wider({}));
  for (const auto& [name, group] : any)
    if (group.size() > of_kind.at(group.front()->amounts.kind).size())
      add(name, group, wider({group.front()->amounts.family}));
  for (const auto& [name, group] : of_kind)
    add(name, group, wider({any_precision(name), group.front()->amounts.family}));
  for (const auto& [name, group] : any) {
    StepCalibration::Kind& kind = kinds[kinds.contains(name) ? name : group.front()->amounts.kind];
    kind.correction = fit_correction(group, kinds);
    for (const StepRow* row : group) kind.places.add(place_of_step(row->amounts));
  }
  return kinds;
}

double StepCalibration::seconds_of(const StepAmounts& amounts) const {
  const double formula = seconds_by(amounts, kind_of(amounts).constants);
  const Ridge& correction = neighbours_of(amounts).correction;
  return correction.empty() ? formula : formula * std::exp(correction.predict(correction_place(amounts)));
}

double StepCalibration::novelty_of(const StepAmounts& amounts) const {
  const FeatureRows& known = neighbours_of(amounts).places;
  const std::vector<double> place = place_of_step(amounts);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t r = 0; r < known.rows(); ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
      const double apart = place[i] - known.row(r)[i];
      sum += apart * apart;
    }
    least = std::min(least, sum);
  }
  return std::min(kUnknownNovelty, std::sqrt(least));
}

namespace {

// Times as a file holds them, so that a fit to its rows is this one.
double as_saved(double seconds) { return rounded(seconds * 1e6) * 1e-6; }

}  // namespace

StepCalibration fit_steps(std::vector<StepRow> rows, std::vector<RunRow> runs) {
  if (rows.size() < kMinStepRows)
    reject(Hint{"give it more time: `seconds`"}, "{} timings are too few for a calibration; it needs {}",
           rows.size(), kMinStepRows);
  StepCalibration c;
  c.rows = std::move(rows), c.runs = std::move(runs);
  for (StepRow& row : c.rows) row.seconds = as_saved(row.seconds);
  for (RunRow& run : c.runs) run.seconds = as_saved(run.seconds), run.alone = as_saved(run.alone);
  StepRows all;
  for (const StepRow& row : c.rows) all.push_back(&row);
  c.kinds = fit_kinds(all);
  judge_calibration(c);
  return c;
}

}  // namespace headroom
