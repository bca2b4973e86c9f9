#pragma once

#include <string>
#include <vector>

#include "report/chart.h"
#include "report/diff.h"

namespace headroom {

// Ratios of GPU counters in several runs: a row for each kernel and ratio, a column for each run. Empty if no
// run counted.
Sheet ratios_sheet(const std::vector<RecordedRun>& runs);

// The same as charts, one for each ratio that some run has: kernels as categories, runs as series.
struct RatioChart {
  std::string name;  // "instructions_per_cycle"
  BarChart chart;
};
std::vector<RatioChart> ratio_charts(const std::vector<RecordedRun>& runs);

}  // namespace headroom
