#pragma once

// Steps that fits of one device and of several share: choosing rows, and judging predictions of rows that a
// fit did not see.

#include <cstdint>
#include <span>
#include <vector>

#include "timing/calibration.h"

namespace headroom {

std::vector<std::size_t> shuffled(std::size_t n, std::uint64_t seed);  // 0 .. n - 1 in random order

PreparedRows prepare_rows(const KernelForm& form, const std::vector<TimingRow>& rows, const Machine& machine,
                          const Traits& traits);

// Residuals are log(measured / predicted).
std::vector<Outlier> outliers_of(const std::vector<TimingRow>& rows, const std::vector<double>& residuals);
JudgedErrors judge_residuals(std::span<const double> predicted_s, std::span<const double> residuals,
                             const Intervals& intervals);

}  // namespace headroom
