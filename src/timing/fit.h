#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "timing/kernel_form.h"

namespace headroom {

// Rows on their machines with their measured times; what fits and judges needs no more.
struct PreparedRows {
  std::vector<std::shared_ptr<const PreparedRow>> rows;
  std::vector<double> measured_s;

  std::size_t size() const { return rows.size(); }
  PreparedRows at(std::span<const std::size_t> indices) const;  // shares the prepared rows
};

struct FitOptions {
  std::vector<double> start;  // empty: the starting values of the constants
  int starts = 3;             // the first at `start`, the others beside it
  int rounds = 4;
  int evaluations = 900;  // of the objective, in each round
  std::uint64_t seed = 17;
};

// The constants with the least mean error, |predicted / measured - 1|, by a simplex search over their
// logarithms with a weak pull to the start. A constant that the rows do not tell apart stays near its start.
std::vector<double> fit_constants(const std::vector<Constant>& constants, const PreparedRows& rows,
                                  const FitOptions& options = {});

// The same for several devices at once, each with the same weight: they share all constants but those of
// their hosts. Returns the constants of each device.
std::vector<std::vector<double>> fit_shared_constants(const std::vector<Constant>& constants,
                                                      std::span<const PreparedRows> devices,
                                                      const FitOptions& options = {});

// Mean |predicted / measured - 1|.
double mean_error(const PreparedRows& rows, std::span<const double> constants);

}  // namespace headroom
