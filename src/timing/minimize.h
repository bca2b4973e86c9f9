#pragma once

#include <functional>
#include <span>
#include <vector>

namespace headroom {

struct MinimizeOptions {
  double step = 0.3;      // edge of the first simplex
  int evaluations = 600;  // at most
  double tolerance = 1e-5;
};
// A simplex search (Nelder-Mead, with coefficients that adapt to the number of variables) within bounds.
// Returns the best point seen; never worse than `start`.
std::vector<double> minimize(const std::function<double(std::span<const double>)>& objective,
                             std::vector<double> start, std::span<const double> low,
                             std::span<const double> high, const MinimizeOptions& options);

}  // namespace headroom
