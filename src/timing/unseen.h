#pragma once

// Steps that fits of one device and of several share: choosing rows, and judging predictions of rows that a
// fit did not see.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "timing/calibration.h"

namespace headroom {

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed);  // 0 .. n - 1 in random order

// Indices of rows, by shape: rows of equal sizes are repeats of one shape. A row is unseen only if a fit saw
// none of its repeats. Shapes are in the order of their first rows.
std::vector<std::vector<std::size_t>> rows_by_shape(const std::vector<TimingRow>& rows);
// The same number for rows of equal sizes; for others almost always another.
std::uint32_t shape_hash(const TimingRow& row);
std::string counted_rows(std::size_t rows);  // "40 rows"
// "40 rows of bf16", and if some are repeats "40 rows of bf16 with 4 different shapes".
std::string counted_shapes(std::size_t rows, std::size_t shapes, const std::string& group = "");

PreparedRows prepare_rows(const KernelForm& form, const std::vector<TimingRow>& rows, const Machine& machine,
                          const Traits& traits);

// Residuals are log(measured / predicted). Rows are outliers if |residual| is above the limit.
double outlier_limit(std::span<const double> residuals);
std::vector<Outlier> outliers_of(const std::vector<TimingRow>& rows, std::span<const double> residuals);

// Predictions of rows that a fit did not see, as a Predictor makes them: never below the floor of the row.
struct UnseenPredictions {
  std::vector<double> predicted_s, floors_s, residuals;

  void add(double predicted_s, double measured_s, double floor_s);
  JudgedErrors judge_with(const Intervals& intervals) const;
};

}  // namespace headroom
