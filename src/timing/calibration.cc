#include "timing/calibration.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "ops/cpu/parallel.h"
#include "timing/predictor.h"
#include "timing/unseen.h"

namespace headroom {
namespace {

constexpr std::size_t kFolds = 5;
constexpr std::uint64_t kFoldSeed = 20;
constexpr Residual::Mix kMixes[] = {{0, 0}, {1, 0}, {0.65, 0.35}, {0.35, 0.65}, {0, 1}};
// With few shapes a fold is fitted from the start; with many its constants hardly differ from those of all.
constexpr std::size_t kRefitShapes = 100;
// An outlier that is off by more than this factor is an error of measurement.
const double kMismeasured = std::log(10.0);

// Inputs and targets of the residual correction under some constants.
struct ResidualRows {
  FeatureRows features, places;
  std::vector<double> targets, log_formula;

  ResidualRows(const std::vector<TimingRow>& rows, const PreparedRows& prepared,
               std::span<const double> constants) {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Fastest f = fastest(*prepared.rows[r], constants);
      features.add(residual_features(rows[r], *prepared.rows[r], f));
      places.add(residual_place(rows[r]));
      log_formula.push_back(std::log(f.seconds));
      targets.push_back(std::log(prepared.measured_s[r] / f.seconds));
    }
  }
  Residual fit(std::span<const std::size_t> indices) const {
    std::vector<double> part;
    for (const std::size_t i : indices) part.push_back(targets[i]);
    return Residual::fit(features.at(indices), places.at(indices), part);
  }
};

// Each row's prediction by a fit that did not see it.
struct OutOfFold {
  std::vector<double> log_formula, trees, ridge;

  double log_predicted(std::size_t r, const Residual::Mix& mix) const {
    return log_formula[r] + mix.trees * trees[r] + mix.ridge * ridge[r];
  }
};

using Shapes = std::vector<std::vector<std::size_t>>;  // the rows of each

// All rows of a shape are in one fold.
OutOfFold cross_validate(const KernelForm& form, const std::vector<TimingRow>& rows, const Shapes& shapes,
                         const PreparedRows& prepared, const std::vector<double>& constants) {
  const std::size_t n = rows.size(), folds = std::min(kFolds, shapes.size());
  OutOfFold out{std::vector<double>(n), std::vector<double>(n), std::vector<double>(n)};
  const std::vector<std::size_t> order = shuffled(shapes.size(), kFoldSeed);
  const auto one_fold = [&](std::size_t fold) {
    std::vector<std::size_t> seen, unseen;
    for (std::size_t i = 0; i < order.size(); ++i)
      for (const std::size_t r : shapes[order[i]]) (i % folds == fold ? unseen : seen).push_back(r);
    FitOptions options;
    if (shapes.size() >= kRefitShapes)
      options = {.start = constants, .starts = 1, .rounds = 2, .evaluations = 500};
    const std::vector<double> fitted =
        fit_constants(form.constants(rows.front().group), prepared.at(seen), options);
    const ResidualRows residuals(rows, prepared, fitted);
    const Residual residual = form.has_residual() ? residuals.fit(seen) : Residual();
    for (const std::size_t r : unseen) {
      out.log_formula[r] = residuals.log_formula[r];
      out.trees[r] = residual.trees(residuals.features.row(r));
      out.ridge[r] = residual.ridge(residuals.places.row(r));
    }
  };
  parallel_for(static_cast<std::int64_t>(folds), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t fold = begin; fold < end; ++fold) one_fold(static_cast<std::size_t>(fold));
  });
  return out;
}

Residual::Mix best_mix(const OutOfFold& out, const PreparedRows& prepared) {
  const auto error_of = [&](const Residual::Mix& mix) {
    double sum = 0;
    for (std::size_t r = 0; r < prepared.size(); ++r)
      sum += std::abs(std::exp(out.log_predicted(r, mix)) / prepared.measured_s[r] - 1);
    return sum;
  };
  return *std::ranges::min_element(kMixes, {}, error_of);
}

// Rows that are errors of measurement do not set them: a few would make all intervals useless.
Intervals intervals_of(const UnseenPredictions& unseen, const std::vector<TimingRow>& rows) {
  const double limit = std::max(outlier_limit(unseen.residuals), kMismeasured);
  std::vector<double> predicted, residuals;
  std::vector<TimingRow> kept;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (std::abs(unseen.residuals[r]) > limit) continue;
    predicted.push_back(unseen.predicted_s[r]), residuals.push_back(unseen.residuals[r]);
    kept.push_back(rows[r]);
  }
  return Intervals::from_residuals(predicted, residuals, rows_by_shape(kept).size());
}

// Intervals, errors and outliers all come from the same unseen rows.
void judge_unseen(Calibrated& result, const std::vector<TimingRow>& rows, const UnseenPredictions& unseen) {
  result.calibration.intervals = intervals_of(unseen, rows);
  result.calibration.errors = unseen.judge_with(result.calibration.intervals);
  result.outliers = outliers_of(rows, unseen.residuals);
}

void require_shapes(const KernelForm& form, std::size_t rows, std::size_t shapes) {
  if (shapes >= kMinCalibrationRows) return;
  const bool repeats = shapes < rows;
  reject(Hint{fmt::format("measure more {}, or predict without a calibration", repeats ? "shapes" : "rows")},
         "{} cannot calibrate {}: it takes at least {}{}", counted_shapes(rows, shapes), form.name(),
         kMinCalibrationRows, repeats ? " different shapes" : "");
}

}  // namespace

const FormCalibration* Calibration::find(const std::string& form, const std::string& group) const {
  for (const FormCalibration& f : forms)
    if (f.form == form && f.group == group) return &f;
  return nullptr;
}

Calibrated calibrate_device(const KernelForm& form, const std::vector<TimingRow>& rows,
                            const Machine& machine) {
  const Shapes shapes = rows_by_shape(rows);
  require_shapes(form, rows.size(), shapes.size());
  Calibrated result;
  FormCalibration& c = result.calibration;
  c.form = form.name(), c.group = rows.front().group, c.rows = rows.size();
  for (const std::vector<std::size_t>& shape : shapes)
    c.fitted_shapes.push_back(shape_hash(rows[shape.front()]));
  std::ranges::sort(c.fitted_shapes);
  FormCalibration::Member member{
      machine.name, machine.compute_capability, {}, form.learn_traits(rows, machine)};
  const PreparedRows prepared = prepare_rows(form, rows, machine, member.traits);
  member.constants = fit_constants(form.constants(c.group), prepared);
  for (double& value : member.constants) value = rounded(value);
  const OutOfFold out = cross_validate(form, rows, shapes, prepared, member.constants);
  const Residual::Mix mix = form.has_residual() ? best_mix(out, prepared) : Residual::Mix{};
  if (mix.trees > 0 || mix.ridge > 0) {
    std::vector<std::size_t> all(rows.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    c.residual = ResidualRows(rows, prepared, member.constants).fit(all);
    c.residual.mix = mix;
  }
  c.members.push_back(std::move(member));
  UnseenPredictions unseen;
  for (std::size_t r = 0; r < rows.size(); ++r)
    unseen.add(std::exp(out.log_predicted(r, mix)), prepared.measured_s[r], prepared.rows[r]->floor());
  judge_unseen(result, rows, unseen);
  return result;
}

}  // namespace headroom
