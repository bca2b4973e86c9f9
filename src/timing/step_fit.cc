// Constants of steps from the probes' rows: for every kind, for kernels in any precision, for families, for
// all.
#include "timing/step_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "timing/minimize.h"

namespace headroom {
namespace {

constexpr std::size_t kMinFamilyRows = 5, kMinCorrectedRows = 10;
constexpr std::size_t kMaxCorrectedRows = 500;  // the work grows with the third power
constexpr double kMaxCorrection = 1;            // of the logarithm
// Of all rows of a group together: ten rows that a constant e times as large explains 10 % better move it.
constexpr double kStepPull = 1;
constexpr double kLongestHalf = 128;  // the edge of a large tile: it cannot be filled by less
constexpr double kUnknownNovelty = 8;

// A step that launches nothing takes next to nothing, but not 0.
double seconds_by(const StepAmounts& amounts, const StepConstants& constants) {
  return std::max(1e-9, parts_of(amounts, constants).seconds());
}

std::vector<double> logarithms_of(const StepConstants& c) {
  return {std::log(c.efficiency),   std::log(c.half_m),      std::log(c.half_n), std::log(c.half_k),
          std::log(c.memory_share), std::log(c.cache_share), std::log(c.start_s)};
}
StepConstants constants_at(std::span<const double> x) {
  return {std::exp(x[0]), std::exp(x[1]), std::exp(x[2]), std::exp(x[3]),
          std::exp(x[4]), std::exp(x[5]), std::exp(x[6])};
}

// The least mean |log(predicted / measured)|, with a pull to the constants of the group that these rows
// belong to. Few rows, or rows of one size, do not tell seven constants apart: what they leave open stays as
// it is there. Else the time of a large step would follow from the noise of small ones.
StepConstants fit_step_constants(const StepRows& rows, const StepConstants& group) {
  const StepConstants least{1e-4, 0.1, 0.1, 0.1, 0.01, 0.01, 1e-8},
      largest{1, kLongestHalf, kLongestHalf, kLongestHalf, 4, 4, 1e-3};
  const std::vector<double> from = logarithms_of(group), low = logarithms_of(least),
                            high = logarithms_of(largest);
  const auto n = static_cast<double>(rows.size());
  const auto objective = [&](std::span<const double> x) {
    const StepConstants constants = constants_at(x);
    double sum = 0;
    for (const StepRow* row : rows)
      sum += std::abs(std::log(seconds_by(row->amounts, constants) / row->seconds));
    for (std::size_t i = 0; i < x.size(); ++i) sum += kStepPull * (x[i] - from[i]) * (x[i] - from[i]);
    return sum / n;
  };
  std::vector<double> best = minimize(objective, from, low, high, {.step = 0.5, .evaluations = 700});
  best = minimize(objective, best, low, high, {.step = 0.2, .evaluations = 400});
  return constants_at(best);
}

// What the formula left over. Too many rows are thinned out evenly.
Ridge fit_correction(const StepRows& rows, const StepConstants& constants) {
  if (rows.size() < kMinCorrectedRows) return {};
  FeatureRows places;
  std::vector<double> targets;
  const std::size_t count = std::min(rows.size(), kMaxCorrectedRows);
  for (std::size_t i = 0; i < count; ++i) {
    const StepRow& row = *rows[i * rows.size() / count];
    places.add(place_of_step(row.amounts));
    const double residual = std::log(row.seconds / seconds_by(row.amounts, constants));
    targets.push_back(std::clamp(residual, -kMaxCorrection, kMaxCorrection));
  }
  return Ridge::fit(places, targets);
}

}  // namespace

std::vector<double> place_of_step(const StepAmounts& a) {
  std::vector<double> place;
  const StepAmounts::Geometry& g = a.geometry;
  for (const double x : {a.flops, a.bytes, a.m, a.n, a.k}) place.push_back(0.5 * std::log2(1 + x));
  for (const double x : {g.row_in, g.row_out}) place.push_back(0.5 * std::log2(x));
  for (const double x : {g.taps, g.stride}) place.push_back(std::log2(x));
  return place;
}

// From the largest group to the smallest: each starts from what it belongs to.
std::map<std::string, StepCalibration::Kind> fit_kinds(const StepRows& rows) {
  std::map<std::string, StepCalibration::Kind> kinds;
  const auto add = [&](const std::string& name, const StepRows& group, const StepConstants& start) {
    StepCalibration::Kind& kind = kinds[name];
    kind.constants = fit_step_constants(group, start);
    if (is_step_kind(name)) {
      kind.correction = fit_correction(group, kind.constants);
      for (const StepRow* row : group) kind.places.add(place_of_step(row->amounts));
    }
    kind.rows = group.size();
  };
  const auto wider = [&](const std::vector<std::string>& names) {
    for (const std::string& name : names)
      if (const auto it = kinds.find(name); it != kinds.end()) return it->second.constants;
    return kinds.at("").constants;
  };
  add("", rows, {});
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
  return kinds;
}

double StepCalibration::seconds_of(const StepAmounts& amounts) const {
  const Kind& kind = kind_of(amounts);
  const double formula = seconds_by(amounts, kind.constants);
  return kind.correction.empty() ? formula
                                 : formula * std::exp(kind.correction.predict(place_of_step(amounts)));
}

double StepCalibration::novelty_of(const StepAmounts& amounts) const {
  const FeatureRows& known = kind_of(amounts).places;
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

StepCalibration fit_steps(std::vector<StepRow> rows, std::vector<RunRow> runs) {
  if (rows.size() < kMinStepRows)
    reject(Hint{"give it more time: `seconds`"}, "{} timings are too few for a calibration; it needs {}",
           rows.size(), kMinStepRows);
  StepCalibration c;
  c.rows = std::move(rows), c.runs = std::move(runs);
  StepRows all;
  for (const StepRow& row : c.rows) all.push_back(&row);
  c.kinds = fit_kinds(all);
  judge_calibration(c);
  return c;
}

}  // namespace headroom
