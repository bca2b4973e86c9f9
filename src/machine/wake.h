#pragma once

#include <vector>

namespace headroom {

// Seconds to wake a team of so many threads, as kernels do, and to wait for it: of the fastest tenth of
// trials, for other programs only make them slower.
double wake_seconds(int threads, double seconds);
// The same of 2, 4, 8, … threads, up to `most`.
std::vector<double> team_wake_seconds(int most, double seconds);

}  // namespace headroom
